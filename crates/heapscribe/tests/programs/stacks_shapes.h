// What the files of the stack torture share: a random tree of calls through frames of many shapes.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KEEP __attribute__((noinline, noclone))

// Where a tree stands: the same seed makes the same calls, and the same sum.
typedef struct Tree {
    uint64_t random;
    uint64_t sum;
    unsigned calls; // allocation calls still to be made
    int quiet;      // no allocation calls: for trees that a signal interrupts anywhere
} Tree;

// Calls one of the shapes, `depth` frames above the leaves.
void step(Tree *tree, int depth);
// A number below `n`.
unsigned draw(Tree *tree, unsigned n);
// Some allocation calls, whose blocks are all gone again.
void leaf(Tree *tree);
// A block of `size` bytes, written to, added to the sum and freed.
void block(Tree *tree, size_t size);

// Functions of hand-made code with unusual frames: each calls `call(tree)`.
typedef void Through(void (*call)(Tree *), Tree *tree);
Through through_rbx, through_expression, through_moved_return, through_rbp_in_r12, through_pushes, through_dropped_cfi;

// The parts of a program: a name and what it does; the result is printed. Without a name the names are.
typedef struct Part {
    const char *name;
    uint64_t (*run)(void);
} Part;
int run_part(const Part *parts, const char *name);

#ifdef __cplusplus
}
#endif
