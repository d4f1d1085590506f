// Frames of many shapes. Compiled twice, with frame pointers (-DTABLE=shapes_fp) and without
// (-DTABLE=shapes_sp): a tree goes back and forth between the two.
#define _GNU_SOURCE
#include "stacks_shapes.h"
#include <alloca.h>
#include <stdarg.h>
#include <string.h>

static volatile char sink;

#define SHAPE(name, ...)                                                                                     \
    KEEP static void name(Tree *t, int depth) {                                                              \
        __VA_ARGS__;                                                                                         \
        t->sum = t->sum * 31 + (uint64_t)depth;                                                              \
    }
#define TOUCH(frame) ((frame)[0] = (char)depth, step(t, depth - 1), sink = (frame)[0])

SHAPE(plain, step(t, depth - 1))
SHAPE(small, volatile char frame[40]; TOUCH(frame))
SHAPE(medium, volatile char frame[600]; TOUCH(frame))
SHAPE(large, volatile char frame[9000]; TOUCH(frame))
SHAPE(variable, volatile char *frame = alloca(1 + draw(t, 3000)); TOUCH(frame))
SHAPE(aligned_32, volatile char frame[32] __attribute__((aligned(32))); TOUCH(frame))
SHAPE(aligned_64, volatile char frame[64] __attribute__((aligned(64))); TOUCH(frame))
SHAPE(realigned, volatile char even[64] __attribute__((aligned(64)));
      volatile char *frame = alloca(1 + draw(t, 500)); even[0] = 1; TOUCH(frame); sink = even[0])
SHAPE(in_a_loop, for (unsigned n = draw(t, 3); n > 0; n--) {
    volatile char *frame = alloca(16 * n); TOUCH(frame); })
SHAPE(busy, uint64_t a = t->random, b = a * 3, c = b ^ a, d = c * 5, e = d + a, f = e ^ b;
      step(t, depth - 1); t->sum += a + b + c + d + e + f)

// rbp, where it is no frame pointer, holds anything.
#ifdef NO_FRAME_POINTER
#define ALL_REGISTERS "rbx", "rbp", "r12", "r13", "r14", "r15"
#else
#define ALL_REGISTERS "rbx", "r12", "r13", "r14", "r15"
#endif
#ifdef NO_FRAME_POINTER
SHAPE(clobbers, __asm__ volatile("mov $0x5a5a5a58, %%ebp" ::: ALL_REGISTERS); step(t, depth - 1);
      __asm__ volatile("xor %%ebp, %%ebp" ::: ALL_REGISTERS))
#else
SHAPE(clobbers, __asm__ volatile("" ::: ALL_REGISTERS); step(t, depth - 1))
#endif

// A shrink-wrapped prologue: the frame is made only where it is needed.
KEEP static void early(Tree *t, int depth) {
    if (t->random % 5 == 0) {
        t->sum++;
        step(t, depth - 1);
        return;
    }
    volatile char frame[120];
    TOUCH(frame);
    t->sum ^= 7;
}

KEEP static int many(Tree *t, int depth, ...) {
    va_list list;
    va_start(list, depth);
    step(t, depth - 1);
    int last = va_arg(list, int) + (int)va_arg(list, double);
    va_end(list);
    return last;
}
SHAPE(varargs, t->sum += (unsigned)many(t, depth, 3, 4.5))

typedef struct { uint64_t word[20]; } Large;
KEEP static Large returns(Tree *t, int depth) {
    Large large;
    memset(&large, depth, sizeof large);
    step(t, depth - 1);
    return large;
}
SHAPE(by_value, t->sum += returns(t, depth).word[3])

// Saves ten vector registers and takes its arguments elsewhere.
KEEP __attribute__((ms_abi)) static void foreign(Tree *t, int depth) { step(t, depth - 1), t->sum++; }
SHAPE(abroad, foreign(t, depth))

KEEP __attribute__((force_align_arg_pointer)) static void forced(Tree *t, int depth) { step(t, depth - 1), t->sum++; }
SHAPE(forces, forced(t, depth))

// More arguments than registers.
KEEP static uint64_t nine(Tree *t, int depth, long a, long b, long c, long d, long e, long f, long g) {
    step(t, depth - 1);
    return (uint64_t)(a + b + c + d + e + f + g);
}
SHAPE(pushes, t->sum += nine(t, depth, 1, 2, 3, depth, 5, 6, 7))

// A jump, not a call, where the optimizer makes one: these have no frame in the stack.
KEEP static void tail(Tree *t, int depth) {
    t->sum = t->sum * 31 + 1;
    return step(t, depth - 1);
}

typedef void Shape(Tree *, int);
Shape *const TABLE[] = {plain, small, medium, large, variable, aligned_32, aligned_64, realigned, in_a_loop, busy,
                        clobbers, early, varargs, by_value, abroad, forces, pushes, tail};
