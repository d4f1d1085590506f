/* heapscribe.h: tell heapscribe what your program does, and ask it what it has counted.
 *
 * Nothing has to be linked. Without `heapscribe record` each function is one load and one branch; under
 * it they are found in the library that `record` preloads. None of them allocates, changes errno or fails;
 * all may be called from any thread and from signal handlers (a call from a handler that has interrupted
 * the recorder is left out and counted in the report under "reentered"). For C99 and C++11, gcc and clang.
 *
 * `heapscribe header > heapscribe.h` writes this file.
 */
#ifndef HEAPSCRIBE_H
#define HEAPSCRIBE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Totals of blocks of the heap since the recording began; blocks of pools are not among them. */
typedef struct heapscribe_counts {
    uint64_t allocated_bytes;
    uint64_t freed_bytes;
    uint64_t allocated_blocks;
    uint64_t freed_blocks;
} heapscribe_counts;

/* What is recorded, as heapscribe_stats gives it. */
enum {
    HEAPSCRIBE_NOT_RECORDED = -1, /* this program is not recorded, or has not allocated yet */
    HEAPSCRIBE_OFF = 0,           /* nothing is recorded now */
    HEAPSCRIBE_SAMPLED = 1,       /* some blocks are, and they alone are counted */
    HEAPSCRIBE_FULL = 2           /* every block is */
};

/* The address of a function of the preloaded library; null without it. Read from the linker's table, where
 * a symbol that is weak and nowhere defined is null: a declaration would do for code that is compiled to
 * be position-independent, but in other code the linker decides that there will never be such a function. */
#if defined(__x86_64__) && defined(__ELF__)
#define HEAPSCRIBE_FIND_(type, name)                                                                        \
    static inline type heapscribe_find_##name##_(void) {                                                    \
        type found;                                                                                         \
        __asm__(".weak heapscribe_api_" #name "\n\tmovq heapscribe_api_" #name "@GOTPCREL(%%rip), %0"       \
                : "=r"(found));                                                                             \
        return found;                                                                                       \
    }
#else
#define HEAPSCRIBE_FIND_(type, name)                                                                        \
    static inline type heapscribe_find_##name##_(void) { return (type)0; }
#endif

typedef void (*heapscribe_name_fn_)(const char *);
typedef void (*heapscribe_pool_alloc_fn_)(const void *, size_t);
typedef void (*heapscribe_pool_free_fn_)(const void *);
typedef void (*heapscribe_pool_realloc_fn_)(const void *, const void *, size_t);
typedef int (*heapscribe_stats_fn_)(heapscribe_counts *, heapscribe_counts *);

HEAPSCRIBE_FIND_(heapscribe_name_fn_, mark)
HEAPSCRIBE_FIND_(heapscribe_name_fn_, snapshot)
HEAPSCRIBE_FIND_(heapscribe_name_fn_, section_begin)
HEAPSCRIBE_FIND_(heapscribe_name_fn_, section_end)
HEAPSCRIBE_FIND_(heapscribe_pool_alloc_fn_, pool_alloc)
HEAPSCRIBE_FIND_(heapscribe_pool_free_fn_, pool_free)
HEAPSCRIBE_FIND_(heapscribe_pool_realloc_fn_, pool_realloc)
HEAPSCRIBE_FIND_(heapscribe_stats_fn_, stats)

/* Marks a point that the program has reached. The report shows when that was, and how large the heap was. A
 * name has up to 256 bytes, what is longer is cut; a process has up to 4,096 different ones. */
static inline void heapscribe_mark(const char *name) {
    heapscribe_name_fn_ f = heapscribe_find_mark_();
    if (f) f(name);
}

/* Takes a snapshot of what is allocated at this instant, under a name of up to 64 bytes of UTF-8. Other
 * threads that allocate wait meanwhile, some milliseconds for a million blocks. It can be looked at for as
 * long as the session stays. A name that is refused, or a full disk, is counted in the report. */
static inline void heapscribe_snapshot(const char *name) {
    heapscribe_name_fn_ f = heapscribe_find_snapshot_();
    if (f) f(name);
}

/* A section of the calling thread begins. Sections nest, up to 16 deep; the report shows how often, how
 * long, and what was allocated inside. */
static inline void heapscribe_section_begin(const char *name) {
    heapscribe_name_fn_ f = heapscribe_find_section_begin_();
    if (f) f(name);
}

/* The innermost section of this name ends on the calling thread, and those inside it. */
static inline void heapscribe_section_end(const char *name) {
    heapscribe_name_fn_ f = heapscribe_find_section_end_();
    if (f) f(name);
}

/* The program has allocated a block itself, from a pool: `size` bytes at `p`, for whoever calls the function
 * that calls this. `p` may be the address of the heap's own block around it, or of a block of another pool: of
 * blocks of pools that begin at one address, or within the same 8 bytes, the last one counts. Null is none. */
static inline void heapscribe_pool_alloc(const void *p, size_t size) {
    heapscribe_pool_alloc_fn_ f = heapscribe_find_pool_alloc_();
    if (f) f(p, size);
}

/* A block of a pool is freed. Null is none. */
static inline void heapscribe_pool_free(const void *p) {
    heapscribe_pool_free_fn_ f = heapscribe_find_pool_free_();
    if (f) f(p);
}

/* The block at `old` was reallocated: it has `size` bytes now, at `p`. */
static inline void heapscribe_pool_realloc(const void *old, const void *p, size_t size) {
    heapscribe_pool_realloc_fn_ f = heapscribe_find_pool_realloc_();
    if (f) f(old, p, size);
}

/* What was counted: by all threads of the process into `*process`, by the calling thread into `*thread`;
 * either may be null. A thread starts from zero. What is recorded now is the result: where blocks are
 * sampled only those that were are counted, and before a mode is turned on none are. */
static inline int heapscribe_stats(heapscribe_counts *process, heapscribe_counts *thread) {
    heapscribe_stats_fn_ f = heapscribe_find_stats_();
    heapscribe_counts none = {0, 0, 0, 0};
    if (f) return f(process, thread);
    if (process) *process = none;
    if (thread) *thread = none;
    return HEAPSCRIBE_NOT_RECORDED;
}

#undef HEAPSCRIBE_FIND_

#ifdef __cplusplus
}
#endif

#endif
