// N threads that use the heap in every way and count their calls: worker [-j THREADS] [-n ROUNDS]
// [-s SIZE_MAX]. It ends before when `counted.h` says so. With -n 0 it does all but the rounds, so that two runs differ by exactly those.
#include "counted.h"

static long threads = 1, rounds = 10000, size_max = 900;
static pthread_barrier_t barrier;

static void *work(void *seed) {
    unsigned x = (unsigned)(uintptr_t)seed * 2654435761u + 1;
    void *kept[64] = { 0 };
    pthread_barrier_wait(&barrier);
    for (long i = 0; i < rounds && !atomic_load_explicit(&counts_table[0].aligned, memory_order_relaxed); i++) {
        x = x * 1664525 + 1013904223;
        void **at = &kept[x >> 26];
        size_t size = 1 + (x >> 8) % size_max;
        switch ((x >> 4) % 8) {
        case 0: case 1: case 2: FREE(*at); *at = MALLOC(size); break;
        case 3: FREE(*at); *at = CALLOC(1, size); break;
        case 4: case 5: *at = REALLOC(*at, size); break;
        case 6: FREE(*at); *at = ALIGNED(64, size); break;
        default: FREE(*at); *at = NULL;
        }
    }
    for (int i = 0; i < 64; i++) FREE(kept[i]);
    pthread_barrier_wait(&barrier);
    return NULL;
}

int main(int argc, char **argv) {
    static pthread_t t[256];
    for (int i = 1; i + 1 < argc; i += 2) {
        long value = atol(argv[i + 1]);
        if (argv[i][1] == 'j') threads = value;
        if (argv[i][1] == 'n') rounds = value;
        if (argv[i][1] == 's') size_max = value;
    }
    counts_open();
    pthread_barrier_init(&barrier, NULL, threads);
    for (long i = 0; i < threads; i++) pthread_create(&t[i], NULL, work, (void *)(i + 1));
    for (long i = 0; i < threads; i++) pthread_join(t[i], NULL);
    puts("work done");
    fflush(stdout);
    counts_table[0].realloc = 1;
    return 0;
}
