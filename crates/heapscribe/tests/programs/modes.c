// Allocates in phases that the test opens one after the other: modes phases DIR, or all at once: modes
// threads. Functions are named, so that a stack tells the phase. What it prints depends on no address.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 1000

static void *kept[BLOCKS];
static unsigned sum;

static void *touch(void *p, size_t n) {
    if (p) memset(p, (int)n, n);
    sum += (unsigned)n;
    return p;
}

// Ends what the phase before has left, and leaves as many blocks behind.
#define PHASE(name) \
    __attribute__((noinline)) static void name(void) { \
        for (int i = 0; i < BLOCKS; i++) { \
            free(kept[i]); \
            kept[i] = touch(malloc(100 + i % 7), 100); \
            if (i % 10 == 0) kept[i] = touch(realloc(kept[i], 300), 300); \
        } \
    }
PHASE(phase_1) PHASE(phase_2) PHASE(phase_3) PHASE(phase_4) PHASE(phase_5)

static void wait_for(const char *dir, int phase) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", dir, phase);
    while (access(path, F_OK) != 0) usleep(2000);
}

static void done(const char *dir, int phase) {
    char path[4096];
    snprintf(path, sizeof path, "%s/done%d", dir, phase);
    fclose(fopen(path, "w"));
}

// All calls by which a block can come and go, in numbers that are always the same.
static void *all_calls(void *arg) {
    (void)arg;
    void *p[64] = {0};
    for (int i = 0; i < 20000; i++) {
        void **q = &p[i * 7 % 64];
        switch (i % 5) {
        case 0: free(*q); *q = touch(malloc(64 + i % 500), 64); break;
        case 1: free(*q); *q = touch(calloc(4, 50 + i % 9), 200); break;
        case 2: *q = touch(realloc(*q, 90 + i % 400), 90); break;
        case 3: free(*q); if (posix_memalign(q, 256, 700)) *q = NULL; break;
        case 4: free(*q); *q = aligned_alloc(64, 640); break;
        }
    }
    for (int i = 0; i < 64; i++) free(p[i]);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 2) {
        free(touch(malloc(1), 0)); // a process without a call has no session
        void (*phases[])(void) = {phase_1, phase_2, phase_3, phase_4, phase_5};
        for (int i = 0; i < 5; i++) {
            wait_for(argv[2], i + 1);
            phases[i]();
            done(argv[2], i + 1);
        }
        for (int i = 0; i < BLOCKS; i++) free(kept[i]);
    } else {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, all_calls, NULL);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        sum = 7;
        for (int i = 0; i < 3; i++) {
            if (fork() == 0) { all_calls(NULL); _exit(0); }
        }
        while (wait(NULL) > 0) {}
    }
    printf("sum %u\n", sum);
    return 0;
}
