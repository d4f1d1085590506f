/* An independent counter: a library to preload that counts calls and bytes of the heap's functions and knows
 * what is live. It shares nothing with the recorder, and is slow: one lock, one table.
 *
 * Each process image leaves a file PID.TIME in the directory $CAMPAIGN_COUNTS, of the words of `counts` below,
 * in order; with $CAMPAIGN_ONLY those in whose environment the variable of this name is. Calls before this library is initialised are counted as well: they are in memory until then.
 * A child of fork begins at zero and knows no block of its parent. A free of NULL is not counted, and of a block
 * that nobody knows only the call; a realloc is an allocation of the new size, and a free when there was a block. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

enum { SLOTS = 1 << 23 };
struct counts {
    uint64_t mallocs, callocs, reallocs, aligned, frees_called;
    uint64_t allocations, bytes_allocated, frees, bytes_freed, peak_bytes, live_blocks, live_bytes;
};
static struct counts early, *counts = &early;
/* Open addressing, by address; a freed slot keeps TOMB. */
static struct slot {
    uintptr_t block;
    size_t size;
} slots[SLOTS] __attribute__((aligned(4096)));
enum { TOMB = 1 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct slot *slot_of(uintptr_t block, int insert) {
    struct slot *tomb = NULL;
    for (uint64_t i = (block >> 4) * 0x9e3779b97f4a7c15ull >> 41;; i = (i + 1) % SLOTS) {
        struct slot *slot = &slots[i];
        if (slot->block == block) return slot;
        if (slot->block == TOMB && tomb == NULL) tomb = slot;
        if (slot->block == 0) return insert && tomb ? tomb : slot;
    }
}

static void born(void *block, size_t size) {
    if (block == NULL) return;
    struct slot *slot = slot_of((uintptr_t)block, 1);
    slot->block = (uintptr_t)block;
    slot->size = size;
    counts->allocations++;
    counts->bytes_allocated += size;
    counts->live_blocks++;
    counts->live_bytes += size;
    if (counts->live_bytes > counts->peak_bytes) counts->peak_bytes = counts->live_bytes;
}

/* The size that it had; 0 of a block that nobody knows. */
static size_t dead(void *block) {
    struct slot *slot = slot_of((uintptr_t)block, 0);
    if (slot->block == 0) return 0;
    size_t size = slot->size;
    slot->block = TOMB;
    counts->frees++;
    counts->bytes_freed += size;
    counts->live_blocks--;
    counts->live_bytes -= size;
    return size;
}

static void open_file(void) {
    const char *directory = getenv("CAMPAIGN_COUNTS"), *only = getenv("CAMPAIGN_ONLY");
    struct timespec t;
    char path[4096];
    if (directory == NULL || (only != NULL && getenv(only) == NULL)) return;
    clock_gettime(CLOCK_MONOTONIC, &t);
    snprintf(path, sizeof path, "%s/%d.%lld%09ld", directory, (int)getpid(), (long long)t.tv_sec, t.tv_nsec);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (ftruncate(file, sizeof early) == 0) {
        void *map = mmap(NULL, sizeof early, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) {
            *(struct counts *)map = early;
            counts = map;
        }
    }
    close(file);
}

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void in_parent(void) { pthread_mutex_unlock(&lock); }
static void in_child(void) {
    pthread_mutex_init(&lock, NULL);
    early = (struct counts){0};
    counts = &early;
    madvise(slots, sizeof slots, MADV_DONTNEED);
    open_file();
}

__attribute__((constructor)) static void begin(void) {
    open_file();
    pthread_atfork(before_fork, in_parent, in_child);
}

#define COUNTED(counter, call, size)                                                                               \
    pthread_mutex_lock(&lock);                                                                                     \
    counts->counter++;                                                                                             \
    void *block = call;                                                                                            \
    born(block, size);                                                                                             \
    pthread_mutex_unlock(&lock);                                                                                   \
    return block

void *malloc(size_t size) { COUNTED(mallocs, __libc_malloc(size), size); }
void *calloc(size_t n, size_t size) { COUNTED(callocs, __libc_calloc(n, size), n * size); }
void *memalign(size_t alignment, size_t size) { COUNTED(aligned, __libc_memalign(alignment, size), size); }
void *aligned_alloc(size_t alignment, size_t size) { COUNTED(aligned, __libc_memalign(alignment, size), size); }
void *valloc(size_t size) { COUNTED(aligned, __libc_memalign(4096, size), size); }

void *realloc(void *old, size_t size) {
    pthread_mutex_lock(&lock);
    counts->reallocs++;
    void *block = __libc_realloc(old, size);
    if (old != NULL && (block != NULL || size == 0)) dead(old);
    born(block, size);
    pthread_mutex_unlock(&lock);
    return block;
}

void *reallocarray(void *old, size_t n, size_t size) {
    size_t bytes;
    if (!__builtin_mul_overflow(n, size, &bytes)) return realloc(old, bytes);
    errno = ENOMEM;
    return NULL;
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *block = memalign(alignment, size);
    if (block != NULL) *out = block;
    return block == NULL ? ENOMEM : 0;
}

void free(void *block) {
    if (block == NULL) return;
    pthread_mutex_lock(&lock);
    counts->frees_called++;
    dead(block);
    __libc_free(block);
    pthread_mutex_unlock(&lock);
}
