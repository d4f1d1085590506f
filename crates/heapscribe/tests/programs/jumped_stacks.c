// Handlers jump away at any instruction of a program that makes a new stack with each block: by way of LEFT and RIGHT, as
// the bits of the block's size say.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define KEEP __attribute__((noinline, noclone))
enum { DEPTH = 14, JUMPS = 1000, AFTERWARDS = 3000, LEAST = 16 };

static sigjmp_buf back;
static volatile unsigned jumps, seed = 1;

static void jump(int signal) {
    (void)signal;
    if (jumps >= JUMPS) return;
    jumps++;
    siglongjmp(back, 1);
}

KEEP void left(unsigned bits, int depth);
KEEP void right(unsigned bits, int depth);

KEEP void leaf(unsigned bits) {
    void *volatile block = malloc(LEAST + bits);
    free(block);
}

static inline void step(unsigned bits, int depth) {
    if (depth == 0) leaf(bits);
    else if (bits >> (depth - 1) & 1) right(bits, depth - 1);
    else left(bits, depth - 1);
}

KEEP void left(unsigned bits, int depth) { step(bits, depth); __asm__ volatile("" ::: "memory"); }
KEEP void right(unsigned bits, int depth) { step(bits, depth); __asm__ volatile("nop" ::: "memory"); }

static unsigned draw(void) { return (seed = seed * 1103515245 + 12345) >> 16 & ((1u << DEPTH) - 1); }

int main(void) {
    struct sigaction action = {.sa_handler = jump, .sa_flags = SA_NODEFER};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 150}, {0, 150}}, never = {{0, 0}, {0, 0}};
    // The place first: a signal that comes at once would jump to nowhere.
    if (!sigsetjmp(back, 1)) setitimer(ITIMER_REAL, &often, NULL);
    while (jumps < JUMPS) step(draw(), DEPTH);
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < AFTERWARDS; i++) step(draw(), DEPTH);
    puts("jumped often");
    return 3;
}
