// Keeps rules or breaks them, as it is told: checked [allocates] [frees] [late] [leaks] [more]. The thread
// `control` goes through the section "control" 100 times; after the mark "ready" only it works.
#define _GNU_SOURCE
#include "heapscribe.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int asked(int argc, char **argv, const char *what) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], what)) return 1;
    return 0;
}

static int allocates, frees;
static void *given;

__attribute__((noinline)) void *steps_into_trouble(size_t size) { return malloc(size); }

__attribute__((noinline)) void *known_leak(size_t size) { return malloc(size); }

__attribute__((noinline)) void *unknown_leak(size_t size) { return malloc(size); }

__attribute__((noinline)) void *holds_much(size_t size) { return malloc(size); }

static void *control(void *unused) {
    pthread_setname_np(pthread_self(), "control");
    void *volatile own = NULL;
    for (int i = 0; i < 100; i++) {
        heapscribe_section_begin("control");
        if (allocates && i == 70) own = steps_into_trouble(48);
        if (frees && i == 80) free(given);
        heapscribe_section_end("control");
    }
    free(own);
    if (!frees) free(given);
    return unused;
}

int main(int argc, char **argv) {
    allocates = asked(argc, argv, "allocates");
    frees = asked(argc, argv, "frees");
    given = malloc(1000);
    void *volatile much = holds_much(asked(argc, argv, "more") ? 300000 : 200000);
    void *volatile kept = known_leak(100);
    if (asked(argc, argv, "leaks")) kept = unknown_leak(5000);
    pthread_t thread;
    pthread_create(&thread, NULL, control, NULL);
    pthread_join(thread, NULL);
    free(much);
    heapscribe_mark("ready");
    if (asked(argc, argv, "late")) kept = realloc(unknown_leak(10), 20);
    return kept == NULL;
}
