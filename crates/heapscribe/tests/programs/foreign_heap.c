// An executable with a heap of its own: it owns malloc, calloc, realloc and free, and ends the program when it is given
// a block of another heap. `reallocarray` it leaves to libc, whose own calls `realloc` by name. With -DLIBRARY the heap
// alone, with -DPROGRAM the program alone.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PROGRAM
#define HEAP_BYTES (64 << 20)
static char heap[HEAP_BYTES] __attribute__((aligned(16)));
static size_t used;

static size_t *header(void *p) {
    if ((char *)p < heap || (char *)p >= heap + HEAP_BYTES) {
        static const char text[] = "a block of another heap\n";
        write(2, text, sizeof text - 1);
        abort();
    }
    return (size_t *)p - 2;
}

void *malloc(size_t size) {
    size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    if (at + size + 32 > HEAP_BYTES) return NULL;
    *(size_t *)(heap + at) = size;
    return heap + at + 16;
}

void free(void *p) {
    if (p) *header(p) = 0;
}

void *calloc(size_t n, size_t size) { return malloc(n * size); } // never used before

void *realloc(void *old, size_t size) {
    if (!old) return malloc(size);
    size_t had = *header(old);
    void *new = malloc(size);
    if (new) memcpy(new, old, had < size ? had : size);
    free(old);
    return new;
}

#endif

#ifndef LIBRARY
// There in C23 only, which glibc has since 2.43; ours are there under `record`.
void free_sized(void *, size_t) __attribute__((weak));
void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

int main(void) {
    char *p = NULL;
    for (size_t n = 1; n <= 1000; n++) {
        p = reallocarray(p, n, 10);
        if (!p) return 2;
        p[n * 10 - 1] = (char)n;
    }
    for (size_t n = 1; n <= 1000; n++)
        if (p[n * 10 - 1] != (char)n) return 3;
    char *q = strdup("a block");
    if (free_sized) free_sized(p, 10000);
    else free(p);
    if (free_aligned_sized) free_aligned_sized(q, 16, 8);
    else free(q);
    if (reallocarray(NULL, SIZE_MAX, 2)) return 4;
    write(1, "ok\n", 3);
    return 5;
}
#endif
