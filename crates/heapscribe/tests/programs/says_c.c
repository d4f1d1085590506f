// Says what it does by heapscribe.h: marks, nested sections, a pool inside a block of the heap whose first
// block has the block's own address. Prints the same whether it is recorded or not.
#include "heapscribe.h"

#include <stdio.h>
#include <stdlib.h>

// Threads of a program with many chunks of events: sections go on over them.
enum { ROUNDS = 20000 };

static char *pool_memory;
static size_t pool_used;

__attribute__((noinline)) static void *pool_take(size_t size) {
    void *block = pool_memory + pool_used;
    pool_used += size;
    heapscribe_pool_alloc(block, size);
    return block;
}

__attribute__((noinline)) static void *asks_pool(size_t size) {
    void *block = pool_take(size);
    __asm__ volatile("" ::: "memory");
    return block;
}

__attribute__((noinline)) static void parse(void) {
    heapscribe_section_begin("parse");
    void *p = malloc(100);
    heapscribe_section_begin("number");
    void *q = malloc(10);
    heapscribe_section_end("number");
    free(q);
    free(p);
    heapscribe_section_end("parse");
}

int main(void) {
    heapscribe_mark("start");
    setvbuf(stdout, NULL, _IONBF, 0);
    pool_memory = malloc(4096);
    void *first = asks_pool(64), *second = asks_pool(32), *third = asks_pool(16);
    printf("%d\n", first == (void *)pool_memory);
    heapscribe_pool_free(second);
    heapscribe_pool_realloc(third, (char *)third + 64, 48);
    heapscribe_mark("pool filled");
    for (int i = 0; i < 3; i++) parse();
    heapscribe_section_begin("long");
    for (int i = 0; i < ROUNDS; i++) free(malloc(24));
    heapscribe_section_end("long");
    heapscribe_section_end("never begun");
    heapscribe_section_begin("never ended");
    heapscribe_mark("pool filled");
    heapscribe_mark(NULL);
    puts("done");
    return 0;
}
