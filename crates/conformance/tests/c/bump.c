/* A bump allocator in C: nothing is reused, and all functions that may be null are. */
#include <heapscribe_heap.h>
#include <sys/mman.h>

_Static_assert(sizeof(struct heapscribe_heap) == 104, "as HeapTable");
_Static_assert(sizeof(struct heapscribe_heap_stats) == 96, "as Stats");

#define RESERVE ((size_t)128 << 20)

struct bump {
    char *base;
    size_t used;
};

static void *take(void *heap, size_t size, size_t align) {
    struct bump *bump = heap;
    size_t used = __atomic_load_n(&bump->used, __ATOMIC_RELAXED);
    for (;;) {
        size_t at = ((size_t)bump->base + used + 16 + align - 1) & ~(align - 1);
        size_t start = at - (size_t)bump->base;
        if (start > RESERVE || size > RESERVE - start)
            return NULL;
        size_t end = (start + size + 15) & ~(size_t)15;
        if (__atomic_compare_exchange_n(&bump->used, &used, end, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            ((size_t *)at)[-1] = size;
            return (void *)at;
        }
    }
}

static void drop(void *heap, void *block) {
    (void)heap;
    (void)block;
}

static size_t usable(void *heap, void *block) {
    (void)heap;
    return ((size_t *)block)[-1];
}

/* A new one for each caller. */
int make_bump(struct heapscribe_heap *out, struct bump *bump) {
    bump->base = mmap(NULL, RESERVE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bump->used = 0;
    *out = (struct heapscribe_heap){
        .abi = HEAPSCRIBE_HEAP_ABI,
        .table_bytes = sizeof *out,
        .heap = bump,
        .alloc = take,
        .free = drop,
        .usable_size = usable,
    };
    return bump->base != MAP_FAILED;
}
