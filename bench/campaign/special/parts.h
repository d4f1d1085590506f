/* What the small programs share. A file is a table of parts; `./p NAME` runs one. A part says what it found and
 * nothing that changes by itself (no addresses, no pids, no times). */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct part {
    const char *name;
    void (*run)(int argc, char **argv);
};

/* Work for the heap: blocks of many sizes, filled, grown, checked, freed out of order. The same sum each time. */
static unsigned long work(unsigned rounds) {
    unsigned long sum = 0;
    void *kept[16] = {0};
    for (unsigned i = 0; i < rounds; i++) {
        size_t size = 1 + (i * 2654435761u >> 7) % 900;
        unsigned char *block = malloc(size);
        if (block == NULL) abort();
        memset(block, (int)(i & 255), size);
        if (i % 5 == 0) block = realloc(block, size * 3);
        if (block == NULL || block[size - 1] != (i & 255)) abort();
        sum += block[size / 2] + size;
        free(kept[i % 16]);
        kept[i % 16] = block;
    }
    for (unsigned i = 0; i < 16; i++) free(kept[i]);
    return sum;
}

static void said(const char *what, long value) {
    printf("%s %ld\n", what, value);
    fflush(stdout);
}

/* Waits for a child: its code, or 128 and the signal. */
static inline int ended(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void *in_thread(void *argument) { return (void *)(uintptr_t)work((unsigned)(uintptr_t)argument); }

static inline pthread_t begin_thread(void *(*body)(void *), void *argument, size_t stack) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack != 0 && pthread_attr_setstacksize(&attributes, stack) != 0) abort();
    if (pthread_create(&thread, &attributes, body, argument) != 0) abort();
    pthread_attr_destroy(&attributes);
    return thread;
}

static inline unsigned long end_thread(pthread_t thread) {
    void *result = NULL;
    if (pthread_join(thread, &result) != 0) abort();
    return (unsigned long)(uintptr_t)result;
}

#define MAIN(parts)                                                                                                \
    int main(int argc, char **argv) {                                                                              \
        for (size_t i = 0; i < sizeof(parts) / sizeof *(parts); i++)                                               \
            if (argc > 1 && strcmp(argv[1], (parts)[i].name) == 0) {                                               \
                said("work", (long)work(300));                                                                     \
                (parts)[i].run(argc, argv);                                                                        \
                return 0;                                                                                          \
            }                                                                                                      \
        fprintf(stderr, "%s: no such part\n", argc > 1 ? argv[1] : "");                                            \
        return 2;                                                                                                  \
    }
