/* Calls of the heap at a given depth of the stack, the innermost frames of which are new at each call: what
 * a recorder pays for a stack, and what it saves when it knows most of it already.
 *
 *   deep KIND DEPTH FRESH PATHS OPERATIONS ROUNDS
 *     KIND   pair      malloc, and free of it at once
 *            batch     OPERATIONS mallocs, then as many frees: timed apart
 *            realloc   of one block, up and down by turns
 *            nothing   the frames alone
 *     DEPTH  frames between main and the call     FRESH  how many of them are left and entered each time
 *     PATHS  through how many different ways the fresh frames are entered, by turns (1: always the same;
 *            more: each fresh frame differs from the one before it there; OPERATIONS * ROUNDS: never twice)
 *
 * The least CPU time of all rounds goes to standard error, in ns for one operation. The first round warms
 * up. `measured` is all that is measured: callgrind's --toggle-collect=measured counts just that. */
#include "bench.h"
#include <string.h>
#include <time.h>

enum kind { PAIR, BATCH, REALLOC, NOTHING };
static const char *const kinds[] = {"pair", "batch", "realloc", "nothing"};

static enum kind kind;
static long depth, fresh, paths, operations, rounds;
static void **blocks;
static uint64_t checksum;
static double least_ns[2] = {1e18, 1e18};

static double thread_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static __attribute__((noinline)) void call_heap(long i) {
    unsigned char *p;
    switch (kind) {
    case PAIR:
        p = malloc(24 + (size_t)(i & 15));
        __asm__ volatile("" : "+r"(p)); /* or gcc leaves out both calls */
        p[0] = (unsigned char)i;
        checksum += p[0];
        free(p);
        break;
    case BATCH:
        p = malloc(24 + (size_t)(i & 15));
        p[0] = (unsigned char)i;
        blocks[i] = p;
        break;
    case REALLOC:
        blocks[0] = realloc(blocks[0], 24 + 16 * (size_t)(i & 1));
        break;
    case NOTHING:
        break;
    }
    __asm__ volatile("" ::: "memory");
}

/* Four places to call from, so that ways differ by their return addresses: `way` has two bits a frame. */
static __attribute__((noinline)) void enter_fresh(long left, uint64_t way, long i) {
    if (left == 0) {
        call_heap(i);
        __asm__ volatile("");
        return;
    }
    switch (way >> 2 * (left - 1 < 31 ? left - 1 : 31) & 3) {
    case 0: enter_fresh(left - 1, way, i); __asm__ volatile("# 0"); break;
    case 1: enter_fresh(left - 1, way, i); __asm__ volatile("# 1"); break;
    case 2: enter_fresh(left - 1, way, i); __asm__ volatile("# 2"); break;
    default: enter_fresh(left - 1, way, i); __asm__ volatile("# 3"); break;
    }
}

/* All digits of a way differ from those of the one before: each step adds one to every digit, and a carry. */
static uint64_t way_of(long n) { return (uint64_t)(n % paths) * 0x5555555555555555ull; }

static __attribute__((noinline)) void measured(long begun) {
    double begin = thread_ns();
    for (long i = 0; i < operations; i++) enter_fresh(fresh, way_of(begun + i), i);
    double middle = thread_ns();
    if (kind == BATCH)
        for (long i = 0; i < operations; i++) {
            checksum += *(unsigned char *)blocks[i];
            free(blocks[i]);
        }
    double parts[2] = {middle - begin, thread_ns() - middle};
    for (int i = 0; i < 2; i++)
        if (parts[i] < least_ns[i]) least_ns[i] = parts[i];
}

static __attribute__((noinline)) void descend(long left) {
    if (left > 0) {
        descend(left - 1);
        __asm__ volatile("");
        return;
    }
    for (long round = 0; round < rounds; round++) {
        if (round == 1) least_ns[0] = least_ns[1] = 1e18;
        measured(round * operations);
    }
}

int main(int argc, char **argv) {
    const char *usage = "KIND DEPTH FRESH PATHS OPERATIONS ROUNDS";
    long *numbers[] = {&depth, &fresh, &paths, &operations, &rounds};
    for (int i = 0; i < 5; i++) *numbers[i] = argument(argc, argv, 2 + i, i == 1 ? 0 : 1, usage);
    while (kind < 4 && strcmp(argv[1], kinds[kind]) != 0) kind++;
    /* Four frames are always there: descend, measured, enter_fresh, call_heap. */
    if (kind > NOTHING || depth < fresh + 4) {
        fprintf(stderr, "usage: %s %s     DEPTH is at least FRESH + 4\n", argv[0], usage);
        return 2;
    }
    blocks = checked(calloc((size_t)operations, sizeof *blocks));
    descend(depth - fresh - 4);
    fprintf(stderr, "%.2f %.2f\n", least_ns[0] / (double)operations, least_ns[1] / (double)operations);
    if (kind == REALLOC) free(blocks[0]);
    free(blocks);
    return finished(operations * rounds, checksum);
}
