// A service that allocates at a steady pace for so many milliseconds, in two threads: of three blocks one is freed by the
// other thread, one by its own, and one in a hundred is never freed. Prints how many it allocated.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *passed[2];
static long end_ms;
static long blocks;

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *handle(size_t size) {
    char *block = malloc(size);
    __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);
    memset(block, 1, size);
    return block;
}

static void *serve(void *own) {
    long number = (long)own;
    for (int round = 0; now_ms() < end_ms; round++) {
        void *mine = handle(100 + round % 400);
        void *theirs = __atomic_exchange_n(&passed[1 - number], NULL, __ATOMIC_ACQ_REL);
        free(theirs);
        free(__atomic_exchange_n(&passed[number], handle(3000), __ATOMIC_ACQ_REL));
        if (round % 100) free(mine);
        usleep(200);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t other;
    end_ms = now_ms() + (argc > 1 ? atol(argv[1]) : 1000);
    pthread_create(&other, NULL, serve, (void *)1);
    serve((void *)0);
    pthread_join(other, NULL);
    char line[32];
    return write(1, line, snprintf(line, sizeof line, "%ld\n", blocks)) < 0;
}
