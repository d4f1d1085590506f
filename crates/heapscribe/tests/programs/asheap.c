// A heap whose functions can be called from signal handlers, at any instant: each call takes the next
// piece of one large range and nothing is ever given out again. Preloaded behind the recorder, it lets a
// test allocate in a handler that has interrupted the recorder itself.
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define RANGE ((size_t)32 << 30)
static _Atomic(uintptr_t) next;

static void *take(size_t align, size_t size) {
    uintptr_t at = atomic_load(&next);
    if (!at) {
        void *range = mmap(NULL, RANGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED) return NULL;
        if (!atomic_compare_exchange_strong(&next, &at, (uintptr_t)range + 64)) munmap(range, RANGE);
    }
    if (size > RANGE / 64) { errno = ENOMEM; return NULL; }
    if (align < 16) align = 16;
    uintptr_t all = (16 + size + align - 1 + 15) & ~(uintptr_t)15;
    uintptr_t p = (atomic_fetch_add(&next, all) + 16 + align - 1) & ~(align - 1);
    ((size_t *)p)[-1] = size;
    return (void *)p;
}

void *malloc(size_t size) { return take(16, size); }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) {
    if (size && n > SIZE_MAX / size) { errno = ENOMEM; return NULL; }
    return take(16, n * size);
}
void *realloc(void *p, size_t size) {
    void *q = take(16, size);
    size_t old = p ? ((size_t *)p)[-1] : 0;
    if (p && q) memcpy(q, p, old < size ? old : size);
    return q;
}
void *memalign(size_t align, size_t size) { return take(align, size); }
void *aligned_alloc(size_t align, size_t size) { return take(align, size); }
void *valloc(size_t size) { return take(4096, size); }
void *pvalloc(size_t size) { return take(4096, (size + 4095) & ~(size_t)4095); }
int posix_memalign(void **out, size_t align, size_t size) {
    void *p = take(align, size);
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}
size_t malloc_usable_size(void *p) { return p ? ((size_t *)p)[-1] : 0; }
