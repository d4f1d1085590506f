/* busy PROCESSES THREADS ROUNDS: so many processes at a time, each with so many threads that do nothing but
 * ask for memory and give it back. Every process lives until all have begun. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static long rounds;

static void *run(void *number) {
    void *held[64] = {0};
    unsigned seed = (unsigned)(size_t)number;
    for (long i = 0; i < rounds; i++) {
        seed = seed * 1664525u + 1013904223u;
        void **slot = &held[seed >> 26];
        free(*slot);
        *slot = malloc(1 + (seed >> 8 & 1023));
    }
    for (int i = 0; i < 64; i++) free(held[i]);
    return NULL;
}

static void work(long threads) {
    pthread_t all[256];
    for (long i = 0; i < threads; i++) pthread_create(&all[i], NULL, run, (void *)(i + 1));
    for (long i = 0; i < threads; i++) pthread_join(all[i], NULL);
}

int main(int n, char **arguments) {
    (void)n;
    long processes = atol(arguments[1]), threads = atol(arguments[2]);
    rounds = atol(arguments[3]);
    int begun[2], all_began[2];
    if (pipe(begun) || pipe(all_began)) return 1;
    for (long i = 0; i < processes; i++) {
        if (fork() == 0) {
            char byte = 0;
            close(all_began[1]);
            free(malloc(1));
            if (write(begun[1], &byte, 1) != 1) _exit(1);
            if (read(all_began[0], &byte, 1) != 0) _exit(1);
            work(threads);
            _exit(0);
        }
    }
    char byte;
    for (long i = 0; i < processes; i++) if (read(begun[0], &byte, 1) != 1) return 1;
    close(all_began[1]);
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}
