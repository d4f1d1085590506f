/* Fibers that ask backtrace() at each block: `fiber_truth FILE`. Their stacks are unmapped, and others are mapped in
   their place; they call each other, jump to a stack by hand and back, and the first block of the process is made by one.
   FILE gets for each block, in words of 64 bits: size, number of frames, frames, as of stack_truth.cpp. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
enum { PAGE = 4096, WORDS_MAX = 8 << 20, FIBERS = 400, ROOM = 64 << 20 };

static uint64_t notes[WORDS_MAX];
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Thread_local int is_on_fiber;

/* The first of the frames is in the function that asks. Behind the function of a fiber, which nobody called, the trace
   has a cut: as 1. */
APART void *block(size_t size) {
    void *frames[601], *made = malloc(size);
    int all = backtrace(frames, 600);
    if (is_on_fiber) frames[all++] = (void *)1;
    pthread_mutex_lock(&lock);
    if (used + all + 2 > WORDS_MAX) abort();
    notes[used] = size, notes[used + 1] = all;
    memcpy(&notes[used + 2], frames, all * sizeof *frames);
    used += all + 2;
    pthread_mutex_unlock(&lock);
    return made;
}

static uint64_t random_state = 88172645463325252u;
static unsigned draw(unsigned below) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return random_state % below;
}

typedef struct Fiber {
    ucontext_t own, home;
    char *stack;
    size_t bytes;
    unsigned depth;
    int is_done;
} Fiber;

static Fiber fibers[FIBERS];
static volatile uintptr_t sink;

APART static void works(Fiber *fiber, unsigned depth);
APART static void rests(Fiber *fiber, unsigned depth) {
    char frame[64 + depth % 5 * 48];
    sink += (uintptr_t)memset(frame, 1, sizeof frame);
    swapcontext(&fiber->own, &fiber->home);
    if (depth) works(fiber, depth - 1);
    free(block(100 + depth));
    sink += frame[0];
}
APART static void works(Fiber *fiber, unsigned depth) {
    free(block(1000 + depth));
    if (depth % 3) rests(fiber, depth - 1);
    else if (depth) works(fiber, depth - 1);
    free(block(2000 + depth));
    sink += depth;
}

static void fiber_main(unsigned number) {
    works(&fibers[number], fibers[number].depth);
    fibers[number].is_done = 1;
    for (;;) swapcontext(&fibers[number].own, &fibers[number].home);
}

static void start(unsigned number, char *stack, size_t bytes, unsigned depth) {
    Fiber *fiber = &fibers[number];
    memset(fiber, 0, sizeof *fiber);
    fiber->stack = stack, fiber->bytes = bytes, fiber->depth = depth;
    getcontext(&fiber->own);
    fiber->own.uc_stack.ss_sp = stack, fiber->own.uc_stack.ss_size = bytes;
    makecontext(&fiber->own, (void (*)(void))fiber_main, 1, number);
}
APART static void resume(Fiber *fiber) {
    is_on_fiber = 1;
    swapcontext(&fiber->home, &fiber->own);
    is_on_fiber = 0;
}

/* Where a fiber is unmapped, there may be nothing, no access, or a smaller or larger stack. */
static char *room;
static void unmap(Fiber *fiber) {
    if (draw(2)) munmap(fiber->stack, fiber->bytes);
    else mmap(fiber->stack, fiber->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
static void begin(unsigned number) {
    size_t bytes = (6 + draw(26)) * PAGE, slot = (size_t)ROOM / FIBERS & ~(size_t)(PAGE - 1);
    char *low = room + number * slot + draw(2) * PAGE;
    mmap(low, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    start(number, low, bytes, 3 + draw(40));
}

/* Calls a function on another stack: its frames lead back to this one. */
void on_stack(void *top, void (*call)(unsigned), unsigned argument);
__asm__(".text\n.globl on_stack\n.type on_stack,@function\non_stack:\n.cfi_startproc\n"
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp,-16\nmov %rsp,%rbp\n.cfi_def_cfa_register %rbp\n"
        "mov %rdi,%rsp\nmov %edx,%edi\ncall *%rsi\nmov %rbp,%rsp\npop %rbp\n.cfi_def_cfa %rsp,8\nret\n.cfi_endproc\n"
        ".size on_stack,.-on_stack\n");

enum { PIECES = 24, PIECE = 8 * PAGE };
static char *pieces[PIECES];
APART static void in_pieces(unsigned level);
APART static void goes_on(unsigned level) {
    volatile char frame[16 + 16 * (level % 7)];
    frame[0] = 1;
    free(block(3000 + level));
    in_pieces(level);
    free(block(3500 + level));
    sink += frame[0];
}
static unsigned levels_max;
APART static void in_pieces(unsigned level) {
    if (level < levels_max) on_stack(pieces[level] + PIECE, level % 2 ? goes_on : in_pieces, level + 1);
    for (int i = 0; i < 3; i++) free(block(4000 + level));
    sink++;
}
APART static void caller_of_pieces(int times) {
    if (times) caller_of_pieces(times - 1);
    else in_pieces(0);
    sink++;
}

static void pieces_in_any_order(void) {
    for (int round = 0; round < 12; round++) {
        int in_one = round % 2;
        char *all = mmap(0, PIECES * PIECE * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; i < PIECES; i++) pieces[i] = all + i * PIECE * (2 - in_one);
        for (int i = 0; i < PIECES; i++) {
            int other = (int)draw(PIECES);
            char *piece = pieces[i];
            pieces[i] = pieces[other], pieces[other] = piece;
        }
        for (int i = 0; i < PIECES; i++) mprotect(pieces[i], PIECE, PROT_READ | PROT_WRITE);
        for (int times = 0; times < 6; times++) {
            levels_max = draw(PIECES);
            caller_of_pieces((int)draw(3));
        }
        munmap(all, PIECES * PIECE * 2);
    }
}

static void *in_thread(void *unused) {
    pieces_in_any_order();
    return unused;
}

int main(int count, char **words) {
    if (count < 2) return 2;
    room = mmap(0, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < FIBERS; i++) begin(i);
    for (int turn = 0; turn < 20 * FIBERS; turn++) {
        unsigned number = draw(FIBERS);
        resume(&fibers[number]);
        if (fibers[number].is_done || !draw(16)) {
            unmap(&fibers[number]);
            begin(number);
        }
        if (!draw(8)) free(block(5000));
    }
    pieces_in_any_order();
    pthread_t thread;
    if (pthread_create(&thread, 0, in_thread, 0) || pthread_join(thread, 0)) return 1;
    int file = open(words[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (size_t at = 0; at < used * 8;) {
        ssize_t wrote = write(file, (char *)notes + at, used * 8 - at);
        if (wrote <= 0) return 1;
        at += (size_t)wrote;
    }
    return close(file);
}
