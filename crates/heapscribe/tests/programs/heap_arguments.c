/* What each function of the heap does with arguments that make little sense, a line each: what it returns, what it
   leaves in errno (77 was there), how the block is aligned, whether it has the room and the contents that were asked
   for. A heap that is put under the program has to do the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 77, PAGE = 4096 };

static const size_t sizes[] = {
    0, 1, 15, 16, 17, 24, 25, 1000, 1024, 1025, PAGE, 100000, 1 << 20, 200 << 20, (size_t)1 << 46, PTRDIFF_MAX - PAGE,
    PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX - 2 * PAGE, SIZE_MAX - 15, SIZE_MAX,
};
static const size_t alignments[] = {
    0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 48, 64, 100, PAGE, 5000, 1 << 20, (size_t)1 << 40, (size_t)1 << 62, ((size_t)1 << 62) + 1,
    (size_t)1 << 63, ((size_t)1 << 63) + 1, SIZE_MAX,
};
static const size_t counts[] = {0, 1, 3, 1 << 16, (size_t)1 << 32, ((size_t)1 << 32) + 1, SIZE_MAX / 2 + 1, SIZE_MAX};
#define EACH(array, i) for (size_t i = 0; i < sizeof array / sizeof *array; i++)

static int is_zero(const unsigned char *p, size_t size) {
    for (size_t i = 0; i < size; i++) if (p[i]) return 0;
    return 1;
}

/* What takes long or fills the machine, and is like less. */
static int is_much(size_t size) { return size > 1 << 20 && size < (size_t)1 << 46; }

/* The result, and the block is freed. `align` is what it has to be aligned to at least. */
static void answer(void *block, size_t align, size_t size) {
    int error = errno;
    if (!block) {
        printf("null, errno %d\n", error);
        return;
    }
    const char *room = malloc_usable_size(block) >= size ? "room" : "NO ROOM";
    memset(block, 0xee, size < PAGE ? size : PAGE);
    errno = KEPT;
    free(block);
    printf("block, errno %d, %s, %s, free leaves errno %d\n", error, (uintptr_t)block % align ? "NOT ALIGNED" : "aligned", room, errno);
}

/* What any block is aligned to, or as much as was asked for where that can be. */
static size_t least(size_t align) {
    size_t power = 16;
    while (power < align && power < (size_t)1 << 62) power *= 2;
    return power;
}

static void blocks(void) {
    EACH(sizes, i) {
        printf("malloc(%#zx): ", sizes[i]), errno = KEPT, answer(malloc(sizes[i]), 16, sizes[i]);
        printf("realloc(NULL, %#zx): ", sizes[i]), errno = KEPT, answer(realloc(NULL, sizes[i]), 16, sizes[i]);
        printf("valloc(%#zx): ", sizes[i]), errno = KEPT, answer(valloc(sizes[i]), PAGE, sizes[i]);
        
#ifdef __GLIBC__ /* musl has none */
        printf("pvalloc(%#zx): ", sizes[i]), errno = KEPT, answer(pvalloc(sizes[i]), PAGE, sizes[i]);
#endif
    }
    EACH(counts, i) EACH(sizes, k) {
        size_t total;
        int is_large = __builtin_mul_overflow(counts[i], sizes[k], &total);
        if (!is_large && is_much(total)) continue;
        errno = KEPT;
        unsigned char *block = calloc(counts[i], sizes[k]);
        if (block && !is_zero(block, total)) printf("NOT ZERO ");
        printf("calloc(%#zx, %#zx): ", counts[i], sizes[k]), answer(block, 16, is_large ? SIZE_MAX : total);
        printf("reallocarray(NULL, %#zx, %#zx): ", counts[i], sizes[k]), errno = KEPT;
        answer(reallocarray(NULL, counts[i], sizes[k]), 16, is_large ? SIZE_MAX : total);
    }
}

static void aligned(void) {
    EACH(alignments, i) EACH(sizes, k) {
        if (is_much(sizes[k])) continue;
        void *block = &block, *before = block;
        printf("aligned_alloc(%#zx, %#zx): ", alignments[i], sizes[k]), errno = KEPT;
        answer(aligned_alloc(alignments[i], sizes[k]), least(alignments[i]), sizes[k]);
        printf("memalign(%#zx, %#zx): ", alignments[i], sizes[k]), errno = KEPT;
        answer(memalign(alignments[i], sizes[k]), least(alignments[i]), sizes[k]);
        errno = KEPT;
        int result = posix_memalign(&block, alignments[i], sizes[k]);
        printf("posix_memalign(%#zx, %#zx): %d, ", alignments[i], sizes[k], result);
        if (result) printf("errno %d, pointer %s\n", errno, block == before ? "as before" : "CHANGED");
        else answer(block, least(alignments[i]), sizes[k]);
    }
}

static void resized(void) {
    EACH(sizes, i) EACH(counts, k) {
        if (is_much(counts[k] * sizes[i])) continue;
        char *block = malloc(100), *other = malloc(100);
        memset(block, 1, 100);
        errno = KEPT;
        char *new = reallocarray(block, counts[k], sizes[i]);
        int error = errno, is_same = 0;
        size_t total;
        if (!__builtin_mul_overflow(counts[k], sizes[i], &total) && new) {
            is_same = 1;
            for (size_t at = 0; at < 100 && at < total; at++) is_same &= new[at] == 1;
        } else if (!new && !(counts[k] == 0 || sizes[i] == 0)) {
            is_same = block[0] == 1 && block[99] == 1;
            free(block);
        }
        printf("reallocarray(block, %#zx, %#zx): %s, errno %d, contents %d\n", counts[k], sizes[i], new ? "block" : "null", error, is_same);
        free(new), free(other);
    }
    EACH(sizes, i) {
        char *block = malloc(100);
        memset(block, 1, 100);
        errno = KEPT;
        char *new = realloc(block, sizes[i]);
        printf("realloc(block, %#zx): %s, errno %d\n", sizes[i], new ? "block" : "null", errno);
        if (!new && sizes[i]) printf("  it holds %d\n", block[0] + block[99]), free(block);
        free(new);
    }
}

int main(void) {
    blocks();
    aligned();
    resized();
    errno = KEPT;
    free(NULL);
    printf("free(NULL): errno %d\n", errno);
    printf("malloc_usable_size(NULL): %zu, errno %d\n", malloc_usable_size(NULL), errno);
    return 0;
}
