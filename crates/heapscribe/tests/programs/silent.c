/* Is busy, is silent for half a second in which nothing seals the chunk of its thread, and allocates once more. */
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

int main(void) {
    for (int round = 0; round < 1000; round++) {
        free((void *)(kept = malloc(100)));
    }
    kept = malloc(2000);
    usleep(500000);
    kept = malloc(30);
    _exit(0);
}
