// Programs with a problem each, and their twins without it: findings KIND bad, findings KIND good.
#include "heapscribe.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 200, BLOCKS = 100000 };

static void *blocks[BLOCKS];

static void wait_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// At least so long, and long beside what passed since a moment: so that what was done was steep on a busy machine, too.
static void wait_long_after(long since_ms, long ms) {
    long long_ms = 12 * (now_ms() - since_ms);
    wait_ms(long_ms > ms ? long_ms : ms);
}

// The next of a row of moments, which are so far apart: a program that was kept waiting catches up.
static void wait_for_next(struct timespec *moment, long ms) {
    long ns = moment->tv_nsec + ms * 1000000;
    moment->tv_sec += ns / 1000000000;
    moment->tv_nsec = ns % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, moment, NULL) != 0) continue;
}

__attribute__((noinline)) static void *make_block(size_t size) {
    void *block = malloc(size);
    memset(block, 1, size);
    return block;
}

static void free_blocks(int from, int to) {
    for (int i = from; i < to; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

// A table that every request adds to; the twin is a cache that is filled once and then replaces entries.
static void growth(int is_bad) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    for (int i = 0; i < ROUNDS; i++) {
        for (int n = 0; n < 10; n++) {
            int at = is_bad ? i * 10 + n : n;
            if (!is_bad && blocks[at] && i < ROUNDS / 4) continue;
            free(blocks[at]);
            blocks[at] = make_block(500);
        }
        wait_for_next(&moment, 8);
    }
}

// Blocks that nobody frees; the twin frees them.
static void leak(int is_bad) {
    for (int i = 0; i < 50; i++) blocks[i] = make_block(2000);
    if (!is_bad) free_blocks(0, 50);
}

// A sort that copies everything for a moment; the twin keeps within what it has.
static void burst(int is_bad) {
    for (int i = 0; i < 50; i++) {
        blocks[i] = make_block(20000);
        wait_ms(4);
    }
    if (is_bad) {
        wait_ms(300);
        long begin_ms = now_ms();
        for (int i = 100; i < 200; i++) blocks[i] = make_block(30000);
        free_blocks(100, 200);
        wait_long_after(begin_ms, 200);
    } else {
        wait_ms(500);
    }
    free_blocks(0, 50);
}

// Twice as much for a moment; the twin ends with all of it, and frees nothing.
static void rise(int is_bad) {
    wait_ms(100);
    for (int i = 0; i < 2000; i++) blocks[i] = make_block(1000);
    wait_ms(200);
    long begin_ms = now_ms();
    for (int i = 2000; i < 4000; i++) blocks[i] = make_block(1000);
    if (!is_bad) return;
    free_blocks(2000, 4000);
    wait_long_after(begin_ms, 100);
}

// Blocks that are live when a signal kills the program; the twin ends by itself.
static void killed(int is_bad) {
    for (int i = 0; i < 50; i++) blocks[i] = make_block(2000);
    if (is_bad) raise(SIGKILL);
}

// A buffer for each line of a loop; the twin has one for all.
static void temporary(int is_bad) {
    char *buffer = is_bad ? NULL : make_block(80);
    for (int i = 0; i < 30000; i++) {
        if (is_bad) free(make_block(80));
        else memset(buffer, i, 80);
    }
    free(buffer);
}

// A list that grows by one entry a time; the twin doubles.
static void grow_list(int is_bad) {
    size_t capacity = 16;
    char *list = make_block(capacity);
    for (size_t used = 0; used < 40000; used += 16) {
        if (used + 16 > capacity) {
            capacity = is_bad ? capacity + 16 : capacity * 2;
            list = realloc(list, capacity);
        }
        memset(list + used, 1, 16);
    }
    free(list);
}

// An input that is held until the program ends; the twin frees it when it was read.
static void late_free(int is_bad) {
    for (int i = 0; i < 4; i++) blocks[i] = make_block(1 << 20);
    wait_ms(2);
    if (!is_bad) free_blocks(0, 4);
    for (int i = 0; i < 100; i++) {
        wait_ms(2);
        free(make_block(3000));
    }
    free_blocks(0, 4);
}

static void *free_all(void *unused) {
    (void)unused;
    free_blocks(0, 5000);
    return NULL;
}

// A thread that frees what another allocated; the twin's threads free their own.
static void foreign_free(int is_bad) {
    pthread_t thread;
    for (int i = 0; i < 5000; i++) blocks[i] = make_block(100);
    if (!is_bad) free_all(NULL);
    pthread_create(&thread, NULL, free_all, NULL);
    pthread_join(thread, NULL);
}

// A cache of which one entry here and there stays; the twin's stay side by side.
static void resident_excess(int is_bad) {
    for (int i = 0; i < BLOCKS; i++) blocks[i] = make_block(600);
    wait_ms(50);
    for (int i = 0; i < BLOCKS; i++)
        if (is_bad ? i % 64 : i >= BLOCKS / 64) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
    // So long that memory is sampled on a busy machine, too.
    for (int i = 0; i < 10; i++) wait_ms(100);
    free_blocks(0, BLOCKS);
}

enum { WORKERS = 6, SMALL = 8000 };

static pthread_barrier_t all_there;

// Takes 8 MB and frees them, but for the last block, behind which the arena cannot be given back.
static void take_and_free(void) {
    void **taken = make_block(SMALL * sizeof *taken);
    for (int i = 0; i < SMALL; i++) taken[i] = make_block(1000);
    for (int i = 0; i < SMALL - 1; i++) free(taken[i]);
    free(taken);
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *take_turns(void *unused) {
    (void)unused;
    free(make_block(100));
    pthread_barrier_wait(&all_there);
    pthread_mutex_lock(&turn);
    take_and_free();
    pthread_mutex_unlock(&turn);
    pthread_barrier_wait(&all_there);
    return NULL;
}

// Threads that need much one after the other, each in its own arena; the twin does it all in one.
static void arenas(int is_bad) {
    pthread_t workers[WORKERS];
    int threads = is_bad ? WORKERS : 0;
    pthread_barrier_init(&all_there, NULL, threads + 1);
    for (int i = 0; i < threads; i++) pthread_create(&workers[i], NULL, take_turns, NULL);
    pthread_barrier_wait(&all_there);
    for (int i = threads; i < WORKERS; i++) take_and_free();
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < threads; i++) pthread_join(workers[i], NULL);
    // So long that memory is sampled on a busy machine, too.
    for (int i = 0; i < 10; i++) wait_ms(100);
}

// A block for each number; the twin has one for all.
static void rounding(int is_bad) {
    if (is_bad)
        for (int i = 0; i < BLOCKS; i++) blocks[i] = make_block(8);
    else
        blocks[0] = make_block(8 * BLOCKS);
    wait_ms(10);
    free_blocks(0, BLOCKS);
}

// A page for each small object; the twin asks for the alignment of a line.
static void alignment(int is_bad) {
    for (int i = 0; i < 1000; i++) blocks[i] = aligned_alloc(is_bad ? 4096 : 64, 64);
    wait_ms(10);
    free_blocks(0, 1000);
}

// A section whose blocks stay; the twin's are freed in it.
static void section(int is_bad) {
    blocks[0] = malloc(300000);
    heapscribe_section_begin("request");
    for (int i = 1; i < 100; i++) blocks[i] = make_block(5000);
    if (!is_bad) free_blocks(1, 100);
    heapscribe_section_end("request");
    blocks[100] = malloc(1000000);
    wait_ms(2);
    free_blocks(0, 101);
}

// What samples of a MiB say little about; the twin is large.
static void sampling(int is_bad) {
    int count = is_bad ? 1000 : BLOCKS;
    for (int i = 0; i < count; i++) blocks[i] = make_block(4000);
    free_blocks(0, count);
}

static const struct {
    const char *kind;
    void (*run)(int is_bad);
} KINDS[] = {
    {"growth", growth},
    {"leak", leak},
    {"burst", burst},
    {"rise", rise},
    {"killed", killed},
    {"temporary", temporary},
    {"realloc-growth", grow_list},
    {"late-free", late_free},
    {"foreign-free", foreign_free},
    {"resident-excess", resident_excess},
    {"arenas", arenas},
    {"rounding", rounding},
    {"alignment", alignment},
    {"section", section},
    {"sampling", sampling},
};

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(argv[1], KINDS[i].kind) == 0) {
            KINDS[i].run(strcmp(argv[2], "bad") == 0);
            return 0;
        }
    return 2;
}
