/* A program whose executable has its own malloc; with OPERATORS as a library of that name for others. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static _Alignas(16) unsigned char pool[64 << 20];
static size_t used;
static long calls;

void *malloc(size_t size) {
    size_t at = __atomic_fetch_add(&used, (size + 31) & ~15ul, __ATOMIC_RELAXED);
    if (at + size + 32 > sizeof pool) {
        errno = ENOMEM;
        return NULL;
    }
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    *(size_t *)(pool + at) = size;
    return pool + at + 16;
}
void free(void *block) {
    if (block != NULL && ((unsigned char *)block < pool || (unsigned char *)block >= pool + sizeof pool)) __builtin_trap();
}
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *old, size_t size) {
    void *block = malloc(size);
    if (old != NULL && block != NULL) {
        size_t before = ((size_t *)old)[-2];
        memcpy(block, old, before < size ? before : size);
    }
    return block;
}
void *memalign(size_t alignment, size_t size) {
    uintptr_t block = (uintptr_t)malloc(size + alignment);
    uintptr_t aligned = (block + alignment - 1) & ~(alignment - 1);
    ((size_t *)aligned)[-2] = size;
    return (void *)aligned;
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) { return (*out = memalign(alignment, size)) ? 0 : ENOMEM; }
size_t malloc_usable_size(void *block) { return block == NULL ? 0 : ((size_t *)block)[-2]; }

void *reallocarray(void *, size_t, size_t);
char *strdup(const char *);
int main(void) {
    unsigned long sum = 0;
    for (int i = 1; i < 3000; i++) {
        char *text = strdup("what the libc allocates is ours, too");
        text = reallocarray(text, (size_t)i % 50 + 1, 40);
        sum += strlen(text);
        free(text);
    }
    printf("sum %lu, ours %d\n", sum, calls >= 5998);
    return 0;
}
