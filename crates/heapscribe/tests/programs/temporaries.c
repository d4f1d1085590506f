// Blocks that are freed or resized before their thread allocates again, and others that look so to one who sees only
// some of the blocks. Each function is one pattern.
#include <stdlib.h>

#include "heapscribe.h"

static void *small[500];

// One block after the other, each in place of the one before.
static void resize(void) {
    void *block = NULL;
    for (int i = 0; i < 1500; i++)
        block = realloc(block, 30000 + (i & 1) * 16);
    free(block);
}

// The large ones are temporary, what is left of them is not.
static void shrink(void) {
    for (int i = 0; i < 500; i++) {
        void *block = malloc(30000);
        small[i] = realloc(block, 10);
    }
}

// A small block is allocated before the large one is resized, so the large one is not temporary at first.
static void resize_later(void) {
    for (int i = 0; i < 1000; i++) {
        void *large = malloc(30000);
        void *between = malloc(1000);
        large = realloc(large, 40000);
        free(between);
        free(large);
    }
}

// A block of a pool lies in a block of the heap and is none of its own.
static void with_pool(void) {
    for (int i = 0; i < 500; i++) {
        char *pool = malloc(30000);
        heapscribe_pool_alloc(pool, 300);
        heapscribe_pool_free(pool);
        free(pool);
    }
}

int main(void) {
    resize();
    shrink();
    resize_later();
    with_pool();
    for (int i = 0; i < 500; i++)
        free(small[i]);
    return 0;
}
