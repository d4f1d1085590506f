// Signals: handlers that allocate, on stacks of all kinds, and jumps out of them. A handler comes where
// the heap is not at work: raised by the thread itself, or while it runs a tree without allocation calls.
#define _GNU_SOURCE
#include "stacks_shapes.h"
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { STACK_BYTES = 128 << 10 };

static __thread Tree *current;
static __thread sigjmp_buf back;
static __thread int jumps_out, nests;

KEEP void in_handler(int signal) {
    Tree below = {current->random + (unsigned)signal, 0, 2, 0};
    block(&below, 1700);
    step(&below, 6);
    current->sum = current->sum * 31 + below.sum;
}

static void on_signal(int signal) {
    in_handler(signal);
    if (nests > 0) {
        nests--;
        raise(signal == SIGUSR1 ? SIGUSR2 : SIGUSR1);
        in_handler(signal + 100);
    }
    if (jumps_out) siglongjmp(back, 1);
}

static void catch(int signal, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, 0);
}

static void use_stack(void *place, size_t size) {
    stack_t stack = {.ss_sp = place, .ss_size = size, .ss_flags = place ? 0 : SS_DISABLE};
    sigaltstack(&stack, 0);
}

static void *map_stack(size_t size) {
    return mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// Raises signals at different depths of a recursion.
KEEP void raises(Tree *t, int depth) {
    volatile char frame[48];
    frame[0] = (char)depth;
    if (depth % 7 == 0) raise(depth % 2 ? SIGUSR1 : SIGUSR2);
    if (depth % 5 == 0) block(t, 300);
    if (depth > 0) raises(t, depth - 1);
    t->sum += (uint64_t)frame[0];
}

static uint64_t raised(int flags) {
    Tree t = {7, 0, 0, 0};
    current = &t;
    catch(SIGUSR1, on_signal, flags);
    catch(SIGUSR2, on_signal, flags);
    for (int round = 0; round < 20; round++) {
        nests = round % 3;
        raises(&t, 40 + round);
        t.calls = 10;
        step(&t, 8);
    }
    return t.sum;
}

static uint64_t own_stack(void) { return raised(0); }

// Alternate stacks of a mapping, of the heap, and of a frame of the stack itself, one after the other.
static uint64_t alternate_stack(void) {
    void *mapped = map_stack(STACK_BYTES), *of_heap = malloc(STACK_BYTES);
    char in_frame[STACK_BYTES];
    use_stack(mapped, STACK_BYTES);
    uint64_t sum = raised(SA_ONSTACK);
    use_stack(of_heap, STACK_BYTES);
    sum = sum * 31 + raised(SA_ONSTACK);
    use_stack(in_frame, STACK_BYTES);
    sum = sum * 31 + raised(SA_ONSTACK);
    use_stack(0, 0);
    free(of_heap);
    // A smaller one where the first was.
    munmap(mapped, STACK_BYTES);
    void *smaller = mmap(mapped, STACK_BYTES / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    use_stack(smaller, STACK_BYTES / 2);
    sum = sum * 31 + raised(SA_ONSTACK);
    use_stack(0, 0);
    munmap(smaller, STACK_BYTES / 2);
    return sum;
}

KEEP void jumped(Tree *t, int depth) {
    volatile char frame[80];
    frame[0] = (char)depth;
    if (depth == 0) raise(SIGUSR1);
    else jumped(t, depth - 1);
    t->sum += (uint64_t)frame[0];
}

// Out of the handler, over all the frames below and away from the alternate stack.
static uint64_t jump_out(void) {
    Tree t = {8, 0, 0, 0};
    void *stack = map_stack(STACK_BYTES);
    current = &t;
    jumps_out = 1;
    for (volatile int round = 0; round < 400; round++) {
        use_stack(round % 3 ? stack : 0, STACK_BYTES);
        catch(SIGUSR1, on_signal, round % 3 ? SA_ONSTACK : 0);
        if (!sigsetjmp(back, 1)) jumped(&t, (int)draw(&t, 50));
        t.calls = 2;
        step(&t, 1 + (int)draw(&t, 9));
    }
    jumps_out = 0;
    use_stack(0, 0);
    munmap(stack, STACK_BYTES);
    return t.sum;
}

// The stack pointer is at the end of the stack when the handler comes.
KEEP int overflows(volatile char *above) {
    volatile char frame[256];
    frame[0] = above[0];
    return overflows(frame) + frame[0];
}

static void *overflown(void *stack) {
    Tree t = {9, 0, 0, 0};
    current = &t;
    jumps_out = 1;
    use_stack(stack, STACK_BYTES);
    volatile char start = 1;
    for (volatile int round = 0; round < 10; round++)
        if (!sigsetjmp(back, 1)) t.sum += (uint64_t)overflows(&start);
        else t.calls = 3, step(&t, 5);
    use_stack(0, 0);
    jumps_out = 0;
    return (void *)t.sum;
}

static uint64_t stack_overflow(void) {
    void *stack = map_stack(STACK_BYTES), *sum;
    pthread_attr_t small;
    pthread_t thread;
    catch(SIGSEGV, on_signal, SA_ONSTACK);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_create(&thread, &small, overflown, stack);
    pthread_join(thread, &sum);
    munmap(stack, STACK_BYTES);
    return (uint64_t)sum;
}

// Interrupted at any instruction of frames of all shapes.
static atomic_int ends;
static sem_t handled;

static void on_interrupt(int signal) {
    in_handler(signal);
    sem_post(&handled);
}

static void *runs(void *alternate) {
    // The sum of what the handlers do must not depend on where they come.
    Tree constant = {3, 0, 0, 0}, quiet = {5, 0, 0, 1};
    current = &constant;
    if (alternate) use_stack(alternate, STACK_BYTES);
    sem_post(&handled);
    while (!atomic_load(&ends)) {
        quiet.calls = 50;
        step(&quiet, 12);
    }
    use_stack(0, 0);
    return (void *)constant.sum;
}

static uint64_t interrupted_anywhere(void) {
    uint64_t sum = 0;
    for (int alternate = 0; alternate < 2; alternate++) {
        void *stack = alternate ? map_stack(STACK_BYTES) : 0, *result;
        pthread_t thread;
        catch(SIGUSR1, on_interrupt, alternate ? SA_ONSTACK : 0);
        sem_init(&handled, 0, 0);
        atomic_store(&ends, 0);
        pthread_create(&thread, 0, runs, stack);
        for (int n = 0; n < 1500; n++) {
            while (sem_wait(&handled)) continue;
            pthread_kill(thread, SIGUSR1);
        }
        while (sem_wait(&handled)) continue;
        atomic_store(&ends, 1);
        pthread_join(thread, &result);
        sum = sum * 31 + (uint64_t)result;
    }
    return sum;
}

int main(int count, char **arguments) {
    (void)count;
    static const Part parts[] = {
        {"own_stack", own_stack}, {"alternate_stack", alternate_stack}, {"jump_out", jump_out},
        {"stack_overflow", stack_overflow}, {"interrupted_anywhere", interrupted_anywhere}, {0, 0},
    };
    return run_part(parts, arguments[1]);
}
