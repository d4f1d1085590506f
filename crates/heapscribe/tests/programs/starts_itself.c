/* A heap that prints, sorts and frees while it starts, and so asks malloc, which is to be itself. Then it
 * serves from a static room. */
#include <heapscribe_heap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) char room[64 << 20];
static size_t used;
static void *kept;

static void *take(void *heap, size_t size, size_t align) {
    (void)heap;
    size_t step = ((size + 15) & ~(size_t)15) + 16 + align;
    size_t at = __atomic_fetch_add(&used, step, __ATOMIC_RELAXED);
    if (size > sizeof room || align > sizeof room || at > sizeof room - step)
        return NULL;
    char *block = (char *)(((size_t)room + at + 16 + align - 1) & -align);
    memcpy(block - 8, &size, 8);
    return block;
}

static void drop(void *heap, void *block) { (void)heap, (void)block; }

static size_t usable(void *heap, void *block) {
    size_t size;
    (void)heap;
    memcpy(&size, (char *)block - 8, 8);
    return size;
}

static int owns(void *heap, const void *at) {
    (void)heap;
    return (const char *)at >= room && (const char *)at < room + sizeof room;
}

/* What was allocated in the start is freed long after it, too. */
static void __attribute__((destructor)) end(void) { free(kept); }

const struct heapscribe_heap *heapscribe_get_heap(void) {
    static const struct heapscribe_heap table = {
        .abi = HEAPSCRIBE_HEAP_ABI, .table_bytes = sizeof table,
        .alloc = take, .free = drop, .usable_size = usable, .owns = owns,
    };
    char *line = malloc(100);
    snprintf(line, 100, "%s starts", "a heap");
    fprintf(stderr, "%s\n", line);
    kept = strdup(line);
    free(line);
    return &table;
}
