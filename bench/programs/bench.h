/* What the programs share: numbers that are the same in each run, and how a run ends. */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* xorshift64*: each thread has its own, seeded by its number, so that output does not depend on timing. */
static inline uint64_t next_random(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1dull;
}

static inline uint64_t seeded(uint64_t number) { return 0x9e3779b97f4a7c15ull * (number + 1); }

/* The argument at `index`, a number of at least `least`. */
static inline long argument(int argc, char **argv, int index, long least, const char *usage) {
    char *end = NULL;
    long value = index < argc ? strtol(argv[index], &end, 10) : 0;
    if (index >= argc || *argv[index] == 0 || *end != 0 || value < least) {
        fprintf(stderr, "usage: %s %s\n", argv[0], usage);
        exit(2);
    }
    return value;
}

static inline void *checked(void *block) {
    if (block == NULL) {
        perror("allocation");
        exit(1);
    }
    return block;
}

static inline pthread_t started(void *(*body)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument) != 0) {
        perror("pthread_create");
        exit(1);
    }
    return thread;
}

/* The last thing a program does: what was done, and a number that tells whether it was done rightly. */
static inline int finished(long operations, uint64_t checksum) {
    printf("operations %ld checksum %016llx\n", operations, (unsigned long long)checksum);
    return fflush(stdout) != 0;
}
