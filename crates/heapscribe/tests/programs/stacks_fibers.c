// Stacks that come and go: fibers, threads on given stacks, threads one after the other, vfork.
#define _GNU_SOURCE
#include "stacks_shapes.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, STACK_BYTES = 96 << 10 };

typedef struct Fiber {
    ucontext_t own, home;
    Tree tree;
    int is_done;
} Fiber;

static __thread Fiber *running;

// Another thread may go on with the fiber: the thread's variables are looked up anew.
KEEP static void leave(Fiber *fiber) { swapcontext(&fiber->own, &fiber->home); }
KEEP static void resume(Fiber *fiber) { swapcontext(&fiber->home, &fiber->own); }

KEEP void fiber_frames(Fiber *fiber, int depth) {
    volatile char frame[100];
    frame[0] = (char)depth;
    block(&fiber->tree, 1600);
    fiber->tree.calls = 2;
    step(&fiber->tree, 4);
    if (depth % 3 == 0) leave(fiber);
    if (depth > 0) fiber_frames(fiber, depth - 1);
    if (depth % 4 == 0) leave(fiber);
    block(&fiber->tree, 1601);
    fiber->tree.sum += (uint64_t)frame[0];
}

KEEP void fiber_main(unsigned high, unsigned low) {
    Fiber *fiber = (Fiber *)((uint64_t)high << 32 | low);
    fiber_frames(fiber, 12);
    fiber->is_done = 1;
    leave(fiber);
}

static void start(Fiber *fiber, uint64_t seed, void *stack, size_t size) {
    memset(fiber, 0, sizeof *fiber);
    fiber->tree.random = seed;
    getcontext(&fiber->own);
    fiber->own.uc_stack.ss_sp = stack;
    fiber->own.uc_stack.ss_size = size;
    uint64_t address = (uint64_t)fiber;
    makecontext(&fiber->own, (void (*)(void))fiber_main, 2, (unsigned)(address >> 32), (unsigned)address);
}

static void *map(void *place, size_t size, int fixed) {
    return mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (fixed ? MAP_FIXED : 0), -1, 0);
}

// Eight fibers in turn, on stacks of mappings beside each other, of the heap and of this very stack.
static uint64_t fibers_in_turn(void) {
    static Fiber fibers[8];
    char *mapped = map(0, 4 * STACK_BYTES, 0), in_frame[STACK_BYTES];
    void *stacks[8];
    for (int i = 0; i < 4; i++) stacks[i] = mapped + i * STACK_BYTES;
    for (int i = 4; i < 7; i++) stacks[i] = malloc(STACK_BYTES);
    stacks[7] = in_frame;
    Tree t = {1, 0, 0, 0};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 8; i++) start(&fibers[i], (uint64_t)(i + round), stacks[i], STACK_BYTES);
        for (int left = 8; left > 0;) {
            Fiber *fiber = &fibers[draw(&t, 8)];
            if (fiber->is_done) continue;
            resume(fiber);
            left -= fiber->is_done;
            t.calls = 1;
            step(&t, 3);
        }
        for (int i = 0; i < 8; i++) t.sum = t.sum * 31 + fibers[i].tree.sum;
    }
    for (int i = 4; i < 7; i++) free(stacks[i]);
    munmap(mapped, 4 * STACK_BYTES);
    return t.sum;
}

// Unmapped, and others mapped in its place: smaller and larger ones, with a page without access right
// above the new end. Whoever reads by the bounds of an earlier one dies.
static uint64_t stacks_come_and_go(void) {
    enum { ROOM = 4 * STACK_BYTES };
    char *room = mmap(0, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Tree t = {2, 0, 0, 0};
    for (int round = 0; round < 60; round++) {
        size_t size = (16 + draw(&t, 60)) * PAGE;
        char *low = room + PAGE * draw(&t, 8);
        map(low, size, 1);
        Fiber *fiber = malloc(sizeof *fiber);
        start(fiber, (uint64_t)round, low, size);
        while (!fiber->is_done) resume(fiber);
        t.sum = t.sum * 31 + fiber->tree.sum;
        free(fiber);
        mmap(room, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    munmap(room, ROOM);
    return t.sum;
}

// Begun by one thread, gone on with by another, at the same depth of their own stacks.
static Fiber wanderers[4];
static pthread_barrier_t turn;

static void *carries(void *number) {
    uintptr_t own = (uintptr_t)number;
    Tree t = {own, 0, 0, 0};
    for (int round = 0; round < 12; round++) {
        Fiber *fiber = &wanderers[(own + (unsigned)round) % 4];
        if (!fiber->is_done) resume(fiber);
        t.calls = 2;
        step(&t, 4);
        pthread_barrier_wait(&turn);
    }
    return (void *)t.sum;
}

static uint64_t fibers_wander(void) {
    pthread_t threads[4];
    uint64_t sum = 0;
    char *mapped = map(0, 4 * STACK_BYTES, 0);
    pthread_barrier_init(&turn, 0, 4);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) start(&wanderers[i], (uint64_t)(i + round), mapped + i * STACK_BYTES, STACK_BYTES);
        for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], 0, carries, (void *)i);
        for (int i = 0; i < 4; i++) {
            void *result;
            pthread_join(threads[i], &result);
            sum = sum * 31 + (uint64_t)result;
        }
        for (int i = 0; i < 4; i++) sum = sum * 31 + wanderers[i].tree.sum;
    }
    munmap(mapped, 4 * STACK_BYTES);
    return sum;
}

// A thread that allocates.
KEEP void *thread_main(void *seed) {
    Tree t = {(uintptr_t)seed, 0, 20, 0};
    block(&t, 1800);
    step(&t, 10);
    return (void *)t.sum;
}

// Threads one after the other on stacks of different size at one place, with no access right above them: a
// thread may follow one that had more.
static uint64_t given_stacks(void) {
    enum { ROOM = 512 << 10 };
    char *room = mmap(0, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t sum = 0;
    for (uintptr_t round = 0; round < 60; round++) {
        pthread_attr_t attr;
        pthread_t thread;
        void *result;
        size_t size = ((64 + 8 * (round % 7)) << 10), from = PAGE * (round % 5);
        pthread_attr_init(&attr);
        pthread_attr_setstack(&attr, map(room + from, size, 1), size);
        pthread_create(&thread, &attr, thread_main, (void *)round);
        pthread_join(thread, &result);
        sum = sum * 31 + (uint64_t)result;
        mmap(room, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    munmap(room, ROOM);
    return sum;
}

// A fiber on memory right above or below that of a thread's own stack, all in one mapping; it is unmapped, and the thread
// goes on. Whoever takes the mapping for the thread's stack dies.
static char *both;

static void *has_neighbour(void *neighbour) {
    Tree t = {(uintptr_t)neighbour - (uintptr_t)both, 0, 0, 0};
    block(&t, 1700);
    Fiber *fiber = malloc(sizeof *fiber);
    start(fiber, 5, neighbour, STACK_BYTES);
    while (!fiber->is_done) resume(fiber);
    munmap(neighbour, STACK_BYTES);
    for (int i = 0; i < 3; i++) {
        t.calls = 2;
        step(&t, 3);
    }
    t.sum = t.sum * 31 + fiber->tree.sum;
    free(fiber);
    return (void *)t.sum;
}

static uint64_t merged_with_own(void) {
    uint64_t sum = 0;
    for (int above = 0; above < 2; above++) {
        pthread_attr_t attr;
        pthread_t thread;
        void *result;
        both = map(0, 2 * STACK_BYTES, 0);
        pthread_attr_init(&attr);
        pthread_attr_setstack(&attr, above ? both : both + STACK_BYTES, STACK_BYTES);
        pthread_create(&thread, &attr, has_neighbour, above ? both + STACK_BYTES : both);
        pthread_join(thread, &result);
        sum = sum * 31 + (uint64_t)result;
        munmap(above ? both : both + STACK_BYTES, STACK_BYTES);
    }
    return sum;
}

// More fibers than are known at a time, side by side in one mapping, each resumed again and again.
enum { MANY = 300, MANY_BYTES = STACK_BYTES };
static Fiber many[MANY];

static uint64_t many_fibers(void) {
    char *mapped = map(0, (size_t)MANY * MANY_BYTES, 0);
    Tree t = {7, 0, 0, 0};
    for (int i = 0; i < MANY; i++) start(&many[i], (uint64_t)i, mapped + (size_t)i * MANY_BYTES, MANY_BYTES);
    for (int left = MANY; left > 0;)
        for (int i = 0; i < MANY; i++) {
            if (many[i].is_done) continue;
            resume(&many[i]);
            left -= many[i].is_done;
        }
    for (int i = 0; i < MANY; i++) t.sum = t.sum * 31 + many[i].tree.sum;
    munmap(mapped, (size_t)MANY * MANY_BYTES);
    return t.sum;
}

// New threads take over what the recorder kept for ones that have ended.
static uint64_t threads_in_waves(void) {
    uint64_t sum = 0;
    for (uintptr_t wave = 0; wave < 30; wave++) {
        pthread_t threads[6];
        for (uintptr_t i = 0; i < 6; i++) pthread_create(&threads[i], 0, thread_main, (void *)(wave * 6 + i));
        for (int i = 0; i < 6; i++) {
            void *result;
            pthread_join(threads[i], &result);
            sum = sum * 31 + (uint64_t)result;
        }
    }
    return sum;
}

// A child allocates below its parent's frames and goes; that of vfork is in the parent's memory.
static int by_fork;

KEEP void in_child(Tree *t) {
    block(t, 1900);
    t->calls = 3;
    step(t, 5);
}

KEEP void forks(Tree *t, int depth) {
    volatile char frame[72];
    frame[0] = (char)depth;
    if (depth == 0) {
        pid_t child = by_fork ? fork() : vfork();
        if (child == 0) {
            in_child(t);
            _exit(3);
        }
        int status = 0;
        waitpid(child, &status, 0);
        t->sum = t->sum * 31 + (uint64_t)WEXITSTATUS(status);
    } else {
        forks(t, depth - 1);
    }
    block(t, 1901);
    t->sum += (uint64_t)frame[0];
}

KEEP uint64_t children(void) {
    Tree t = {4, 0, 0, 0};
    block(&t, 10);
    for (int round = 0; round < 20; round++) forks(&t, round);
    return t.sum;
}

static uint64_t child_by_vfork(void) { return children() + 2; }

static uint64_t child_by_fork(void) {
    by_fork = 1;
    return children() + 1;
}

int main(int count, char **arguments) {
    (void)count;
    static const Part parts[] = {
        {"fibers_in_turn", fibers_in_turn}, {"stacks_come_and_go", stacks_come_and_go},
        {"fibers_wander", fibers_wander}, {"merged_with_own", merged_with_own}, {"many_fibers", many_fibers}, {"given_stacks", given_stacks},
        {"threads_in_waves", threads_in_waves}, {"child_by_vfork", child_by_vfork}, {"child_by_fork", child_by_fork}, {0, 0},
    };
    return run_part(parts, arguments[1]);
}
