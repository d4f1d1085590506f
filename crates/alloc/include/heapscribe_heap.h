/* A heap as a table of functions: what a heap in C or C++ fills in. Any thread may call any of them at any
 * time; none may call malloc, which may be this heap.
 *
 * alloc        a block of at least `size` bytes at a multiple of `align`, or NULL. size is from 1 to
 *              PTRDIFF_MAX, align a power of two from 16 on. Contents are anything.
 * free         takes a block back; never NULL.
 * usable_size  the bytes that may be used at a block, at least those asked for, the same until it is freed.
 *
 * What follows may be NULL, and is then made of the three above, or not known:
 *
 * alloc_zeroed as alloc, but the size asked for is zeros.
 * realloc      a block of the size and alignment that begins with what the old one held, which is gone; or
 *              NULL, and the old one is as it was.
 * owns         whether a block is this heap's: 0 no, 1 yes, 2 cannot tell.
 * stats        fills in what the heap knows of itself; the counts are 0 before. It may be asked by a signal
 *              handler in the middle of another call of its thread, which it must not wait for.
 * fork_*       before a fork take your locks; after it, in parent and child, release them.
 * thread_exit  the calling thread is about to end; it may still allocate and free.
 */
#ifndef HEAPSCRIBE_HEAP_H
#define HEAPSCRIBE_HEAP_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEAPSCRIBE_HEAP_ABI 1

struct heapscribe_heap_stats {
    uint64_t pool_bytes;
    uint64_t used_bytes;
    uint64_t peak_bytes;
    uint64_t free_bytes;
    uint64_t largest_free_bytes;
    uint64_t blocks;
    uint64_t free_blocks;
    uint64_t pools;
    uint64_t growths;
    uint64_t failures;
    uint64_t misuses;
    uint64_t locked_bytes;
};

struct heapscribe_heap {
    uint32_t abi;         /* HEAPSCRIBE_HEAP_ABI */
    uint32_t table_bytes; /* sizeof(struct heapscribe_heap) */
    void *heap;           /* given to every function */
    void *(*alloc)(void *heap, size_t size, size_t align);
    void (*free)(void *heap, void *block);
    size_t (*usable_size)(void *heap, void *block);
    void *(*alloc_zeroed)(void *heap, size_t size, size_t align);
    void *(*realloc)(void *heap, void *block, size_t size, size_t align);
    int (*owns)(void *heap, const void *address);
    void (*stats)(void *heap, struct heapscribe_heap_stats *out);
    void (*fork_prepare)(void *heap);
    void (*fork_parent)(void *heap);
    void (*fork_child)(void *heap);
    void (*thread_exit)(void *heap);
};

/* You define this one, in a library of its own:
 *
 *   cc -shared -fPIC -I INCLUDE mine.c -o libmine.so
 *   heapscribe run --heap ./libmine.so -- CMD
 *
 * It is called once, in the first call to malloc or another function of the heap that the process makes,
 * which may be before main, before any constructor, and with signals blocked. It gives a table that stays, or
 * NULL, and the program keeps the heap that it has. What it asks of malloc itself is served by that heap, too;
 * a heap that does so must have `owns`, which then says 0 for such a block. */
const struct heapscribe_heap *heapscribe_get_heap(void);

/* A library that includes this has no malloc of its own. When it is preloaded and no library with one stands in front
 * of it, the program keeps the heap that it has: it is better to hear of that than to wonder. What is below is only in
 * libraries and runs when one is loaded; define HEAPSCRIBE_HEAP_SILENT to leave it out. */
#if defined(__GNUC__) && defined(__PIC__) && !defined(__PIE__) && !defined(HEAPSCRIBE_HEAP_SILENT)

/* Exported by every library of heapscribe's that has malloc, and by one that libheapscribe_table.a is linked into. */
extern const unsigned char heapscribe_heap_shell __attribute__((weak, visibility("default")));

/* dladdr and its result, under other names: its declaration depends on macros that come before the first header. */
struct heapscribe_heap_place {
    const char *file;
    void *others[3];
};
extern int heapscribe_heap_dladdr(const void *address, struct heapscribe_heap_place *place) __asm__("dladdr")
    __attribute__((weak));

/* One for all files of a library. */
__attribute__((weak, visibility("hidden"))) int heapscribe_heap_is_checked = 0;

__attribute__((constructor)) static void heapscribe_heap_check(void) {
    const char *preloaded = getenv("LD_PRELOAD"), *name;
    struct heapscribe_heap_place place = {0, {0, 0, 0}};
    char line[512];
    int bytes, saved = errno;

    if (heapscribe_heap_is_checked || &heapscribe_heap_shell || !preloaded || !heapscribe_heap_dladdr)
        return;
    heapscribe_heap_is_checked = 1;
    if (!heapscribe_heap_dladdr(&heapscribe_heap_is_checked, &place) || !place.file)
        return;
    name = strrchr(place.file, '/') ? strrchr(place.file, '/') + 1 : place.file;
    /* Not one that the program itself opened. */
    if (!strstr(preloaded, name))
        return;
    bytes = snprintf(line, sizeof line,
                     "%.99s: this heap has no malloc, so preloading it alone has no effect: use `heapscribe run --heap`, "
                     "or link libheapscribe_table.a into it\n",
                     name);
    if (bytes > 0 && write(STDERR_FILENO, line, (size_t)bytes) < 0)
        bytes = 0; /* nobody listens */
    errno = saved;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
