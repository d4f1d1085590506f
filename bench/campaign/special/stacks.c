/* Stacks: jumps, fibers, deep, small, elsewhere. */
#include "parts.h"
#include <execinfo.h>
#include <ucontext.h>

static jmp_buf back;
static void descend(int depth) {
    char *block = malloc((size_t)depth + 1);
    block[0] = 1;
    free(block);
    if (depth == 0) longjmp(back, 1);
    descend(depth - 1);
}
static void jumps(int argc, char **argv) {
    static volatile int jumped;
    for (volatile int i = 0; i < 500; i++) {
        if (setjmp(back) == 0) descend(i % 40);
        jumped++;
    }
    said("jumped", jumped);
}

enum { FIBERS = 64, TURNS = 30 };
static ucontext_t scheduler, fibers[FIBERS];
static unsigned long sums[FIBERS];
static void fiber(int number) {
    for (int turn = 0; turn < TURNS; turn++) {
        sums[number] += work(10);
        swapcontext(&fibers[number], &scheduler);
    }
}
static void run_fibers(size_t size, int is_mapped) {
    void *stacks[FIBERS];
    unsigned long sum = 0;
    for (int i = 0; i < FIBERS; i++) {
        stacks[i] = is_mapped ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                              : malloc(size);
        getcontext(&fibers[i]);
        fibers[i].uc_stack = (stack_t){.ss_sp = stacks[i], .ss_size = size};
        fibers[i].uc_link = &scheduler;
        makecontext(&fibers[i], (void (*)(void))fiber, 1, i);
    }
    for (int turn = 0; turn <= TURNS; turn++)
        for (int i = 0; i < FIBERS; i++) swapcontext(&scheduler, &fibers[i]);
    for (int i = 0; i < FIBERS; i++) {
        if (is_mapped) munmap(stacks[i], size);
        else free(stacks[i]);
        sum += sums[i];
    }
    said("sum", (long)sum);
}
static void fibers_on_heap(int argc, char **argv) { run_fibers(64 << 10, 0); }
static void fibers_mapped(int argc, char **argv) { run_fibers(64 << 10, 1); }
static void fibers_small(int argc, char **argv) { run_fibers(argc > 2 ? (size_t)atol(argv[2]) : 8192, 1); }

static __attribute__((noinline)) unsigned long recurse(unsigned depth) {
    unsigned char *block = malloc(depth % 100 + 1);
    block[0] = (unsigned char)depth;
    unsigned long sum = depth == 0 ? 0 : recurse(depth - 1);
    sum += block[0];
    free(block);
    return sum;
}
static void deep(int argc, char **argv) {
    for (int i = 0; i < 3; i++) said("sum", (long)recurse(30000));
}
static void *deep_body(void *depth) { return (void *)recurse((unsigned)(uintptr_t)depth); }
static void deep_in_threads(int argc, char **argv) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) threads[i] = begin_thread(deep_body, (void *)5000, 0);
    for (int i = 0; i < 8; i++) said("sum", (long)end_thread(threads[i]));
}
static void overflow(int argc, char **argv) { said("never", (long)recurse(100000000)); }

static void big_frame(int argc, char **argv) {
    volatile char large[4 << 20];
    large[0] = 3;
    said("work", (long)work(500));
    said("kept", large[0]);
}

static void trampoline(int argc, char **argv) {
    unsigned long sum = 0;
    void nested(void) { sum += work(20); }
    void (*volatile call)(void) = nested;
    for (int i = 0; i < 20; i++) call();
    said("sum", (long)sum);
}

static void asks_itself(int argc, char **argv) {
    void *frames[100];
    int n = backtrace(frames, 100);
    char **names = backtrace_symbols(frames, n);
    said("has frames", n > 2 && names != NULL);
    free(names);
}

static const struct part parts[] = {
    {"jumps", jumps}, {"fibers_on_heap", fibers_on_heap}, {"fibers_mapped", fibers_mapped},
    {"fibers_small", fibers_small}, {"deep", deep}, {"deep_in_threads", deep_in_threads},
    {"overflow", overflow}, {"big_frame", big_frame}, {"trampoline", trampoline}, {"asks_itself", asks_itself},
};
MAIN(parts)
