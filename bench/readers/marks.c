// Two threads with sections and marks, over blocks of which a third stays, for readers of what `convert` writes.
#include "heapscribe.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *serve(void *name) {
    for (int round = 0; round < 5; round++) {
        heapscribe_section_begin(name);
        for (int i = 0; i < 4000; i++) {
            void *volatile block = malloc(100 + i % 50);
            if (i % 3) free(block);
        }
        usleep(4000);
        heapscribe_section_end(name);
        heapscribe_mark("round");
    }
    return NULL;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, NULL, serve, "worker");
    serve("main");
    pthread_join(other, NULL);
    heapscribe_mark("last");
    return 0;
}
