/* Each thread keeps K blocks and replaces one after the other, in rounds by realloc and by free and malloc
 * in turns. A block's size is 100 and the number of its operation, modulo 4096. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { K = 500, SERIALS = 4096, BASE = 100 };

static void *keep(void *arg) {
    void *blocks[K] = {0};
    (void)arg;
    for (unsigned long n = 0;; n++) {
        size_t size = BASE + n % SERIALS;
        void **at = &blocks[n % K];
        if (n / K % 2) {
            *at = realloc(*at, size);
        } else {
            free(*at);
            *at = malloc(size);
        }
        if (n % 64 == 0) {
            struct timespec nap = {0, 500000}; /* or the log is full all the time */
            nanosleep(&nap, 0);
        }
    }
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < 4; i++) pthread_create(&thread, 0, keep, 0);
    puts("ready");
    fflush(stdout);
    pthread_join(thread, 0);
}
