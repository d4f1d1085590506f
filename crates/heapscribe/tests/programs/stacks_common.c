// The root and the leaves of the trees, and the main part of each program of the stack torture.
#include "stacks_shapes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void Shape(Tree *, int);
enum { SHAPES = 18 };
extern Shape *const shapes_fp[SHAPES], *const shapes_sp[SHAPES];

// STACKS_SEED in the environment makes other trees.
static uint64_t seed;

unsigned draw(Tree *tree, unsigned n) {
    tree->random = tree->random * 6364136223846793005u + 1442695040888963407u + 2 * seed;
    return (unsigned)(tree->random >> 33) % n;
}

void step(Tree *tree, int depth) {
    if (depth <= 0 || tree->calls == 0) return leaf(tree);
    for (unsigned n = 1 + draw(tree, 8) / 6; n > 0; n--) {
        unsigned which = draw(tree, 2 * SHAPES);
        (which < SHAPES ? shapes_fp[which] : shapes_sp[which - SHAPES])(tree, depth);
        if (draw(tree, 8) == 0) leaf(tree);
    }
}

void block(Tree *tree, size_t size) {
    unsigned char *p = malloc(size);
    memset(p, (int)size, size);
    tree->sum = tree->sum * 31 + p[size / 2];
    free(p);
}

KEEP void leaf(Tree *tree) {
    if (tree->calls == 0) return;
    tree->calls--;
    size_t size = 1 + draw(tree, 300);
    if (tree->quiet) return;
    switch (draw(tree, 4)) {
    case 0: {
        char *p = calloc(size, 2);
        tree->sum += (uint64_t)p[size];
        p = realloc(p, size * 3);
        tree->sum += (uint64_t)p[size / 2];
        free(p);
        break;
    }
    case 1: {
        void *p = 0;
        tree->sum += (uint64_t)posix_memalign(&p, 64, size) + ((uintptr_t)p & 63);
        free(p);
        break;
    }
    default: block(tree, size);
    }
}

int run_part(const Part *parts, const char *name) {
    const char *given = getenv("STACKS_SEED");
    seed = given ? strtoull(given, 0, 10) : 0;
    for (; parts->name; parts++) {
        if (!name) {
            puts(parts->name);
        } else if (!strcmp(parts->name, name)) {
            printf("%s %016llx\n", name, (unsigned long long)parts->run());
            return 0;
        }
    }
    return name ? 2 : 0;
}
