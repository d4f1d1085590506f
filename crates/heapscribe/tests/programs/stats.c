// What heapscribe_stats counts: "0" for each claim that holds, in the order of the functions below, after
// whether this program is recorded.
#include "heapscribe.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int recorded;

static heapscribe_counts of_process(void) {
    heapscribe_counts counts;
    heapscribe_stats(&counts, NULL);
    return counts;
}

static heapscribe_counts of_thread(void) {
    heapscribe_counts counts;
    heapscribe_stats(NULL, &counts);
    return counts;
}

static int expect(uint64_t is, uint64_t wanted) { return is == (recorded ? wanted : 0); }

// The process's counters go up at least as far as this thread's, which go up by exactly what it does.
static int counters_reflect_malloc_and_free(void) {
    heapscribe_counts p0 = of_process(), t0 = of_thread();
    void *block = malloc(256);
    heapscribe_counts p1 = of_process(), t1 = of_thread();
    free(block);
    heapscribe_counts p2 = of_process(), t2 = of_thread();
    return expect(t1.allocated_bytes - t0.allocated_bytes, 256) && expect(t1.allocated_blocks - t0.allocated_blocks, 1)
        && t1.freed_bytes == t0.freed_bytes && expect(t2.freed_bytes - t1.freed_bytes, 256)
        && expect(t2.freed_blocks - t1.freed_blocks, 1) && t2.allocated_bytes == t1.allocated_bytes
        && (!recorded || (p1.allocated_bytes - p0.allocated_bytes >= 256 && p2.freed_bytes - p1.freed_bytes >= 256));
}

// A realloc to the same size is a block that goes and one that comes: what is live stays.
static int realloc_to_the_same_size_changes_nothing_that_is_live(void) {
    void *block = malloc(512);
    heapscribe_counts t0 = of_thread();
    block = realloc(block, 512);
    heapscribe_counts t1 = of_thread();
    free(block);
    return expect(t1.allocated_bytes - t0.allocated_bytes, 512) && expect(t1.freed_bytes - t0.freed_bytes, 512);
}

static int null_does_not_crash(void) {
    return heapscribe_stats(NULL, NULL) == heapscribe_stats(NULL, &(heapscribe_counts){0})
        && heapscribe_stats(&(heapscribe_counts){0}, NULL) == heapscribe_stats(NULL, NULL);
}

static void *counts_itself(void *unused) {
    heapscribe_counts before = of_thread();
    free(malloc(64));
    heapscribe_counts after = of_thread();
    long good = before.allocated_bytes == 0 && before.freed_blocks == 0 && expect(after.allocated_bytes, 64)
        && expect(after.freed_blocks, 1);
    return (void *)good;
}

// Also a thread that takes over what an ended one has left.
static int threads_start_from_zero(void) {
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *good;
        if (pthread_create(&thread, NULL, counts_itself, NULL) || pthread_join(thread, &good) || !good) return 0;
    }
    return 1;
}

int main(void) {
    free(malloc(1));
    recorded = heapscribe_stats(NULL, NULL) == HEAPSCRIBE_FULL;
    printf("%d%d%d%d\n", !counters_reflect_malloc_and_free(), !realloc_to_the_same_size_changes_nothing_that_is_live(),
           !null_does_not_crash(), !threads_start_from_zero());
    return !recorded;
}
