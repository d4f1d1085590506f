/* A heap in C: a list of free blocks for each power of two, one lock for all. Freed memory is reused for blocks of
 * its power only, so up to half of each block, and all free blocks of a size that a program no longer allocates,
 * are waste. That is the price of a short example.
 *
 *   cc -O2 -shared -fPIC -I INCLUDE heap.c -o libc_heap.so        INCLUDE: see `heapscribe header --to`
 *   heapscribe run --heap ./libc_heap.so -- ls -l
 *
 * With -Wl,--whole-archive INCLUDE/libheapscribe_table.a -Wl,--no-whole-archive behind it the library needs no other:
 *
 *   LD_PRELOAD=$PWD/libc_heap.so ls -l
 */
#define _GNU_SOURCE
#include <heapscribe_heap.h>
#include <pthread.h>
#include <sys/mman.h>

#define ROOM ((size_t)64 << 30) /* addresses; memory is what is written to */
#define POWERS 48

/* In front of each block: where its piece begins, and of which list that is. */
struct head {
    char *piece;
    size_t power;
};

struct free_piece {
    struct free_piece *next;
};

struct heap {
    pthread_mutex_t lock;
    char *base, *next, *end;
    size_t used, blocks, failures;
    struct free_piece *free[POWERS];
};

static struct head *head_of(void *block) {
    return (struct head *)block - 1;
}

/* A piece of 2^power bytes, from the list or from memory that was never used. */
static char *take_piece(struct heap *heap, size_t power) {
    struct free_piece *piece = heap->free[power];
    size_t bytes = (size_t)1 << power;
    if (piece) {
        heap->free[power] = piece->next;
    } else if (bytes <= (size_t)(heap->end - heap->next)) {
        piece = (struct free_piece *)heap->next;
        heap->next += bytes;
    } else {
        heap->failures++;
        return NULL;
    }
    heap->used += bytes;
    heap->blocks++;
    return (char *)piece;
}

static void *heap_alloc(void *self, size_t size, size_t align) {
    struct heap *heap = self;
    size_t need = size + sizeof(struct head) + (align > 16 ? align : 0), power = 5;
    while (power < POWERS && (size_t)1 << power < need)
        power++;
    if (power == POWERS)
        return NULL;
    pthread_mutex_lock(&heap->lock);
    char *piece = take_piece(heap, power);
    pthread_mutex_unlock(&heap->lock);
    if (!piece)
        return NULL;
    char *block = (char *)(((size_t)piece + sizeof(struct head) + align - 1) & -align);
    *head_of(block) = (struct head){.piece = piece, .power = power};
    return block;
}

static void heap_free(void *self, void *block) {
    struct heap *heap = self;
    struct head head = *head_of(block);
    struct free_piece *piece = (struct free_piece *)head.piece;
    pthread_mutex_lock(&heap->lock);
    piece->next = heap->free[head.power];
    heap->free[head.power] = piece;
    heap->used -= (size_t)1 << head.power;
    heap->blocks--;
    pthread_mutex_unlock(&heap->lock);
}

static size_t usable_size(void *self, void *block) {
    (void)self;
    struct head *head = head_of(block);
    return (size_t)(head->piece + ((size_t)1 << head->power) - (char *)block);
}

/* So that blocks from before this heap's start are freed by the heap that allocated them. */
static int owns(void *self, const void *address) {
    struct heap *heap = self;
    return (const char *)address >= heap->base && (const char *)address < heap->end;
}

/* It does not wait for the lock: a signal handler may ask that has interrupted a call of this heap. Zeros are an
 * answer. */
static void heap_stats(void *self, struct heapscribe_heap_stats *out) {
    struct heap *heap = self;
    if (pthread_mutex_trylock(&heap->lock))
        return;
    out->pool_bytes = (size_t)(heap->next - heap->base);
    out->used_bytes = heap->used;
    out->free_bytes = out->pool_bytes - out->used_bytes;
    out->blocks = heap->blocks;
    out->failures = heap->failures;
    out->pools = 1;
    pthread_mutex_unlock(&heap->lock);
}

/* A child has only the thread that forked: a lock that another one held would stay taken for ever. */
static void lock(void *self) {
    pthread_mutex_lock(&((struct heap *)self)->lock);
}

static void unlock(void *self) {
    pthread_mutex_unlock(&((struct heap *)self)->lock);
}

const struct heapscribe_heap *heapscribe_get_heap(void) {
    static struct heap heap = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static const struct heapscribe_heap table = {
        .abi = HEAPSCRIBE_HEAP_ABI,
        .table_bytes = sizeof table,
        .heap = &heap,
        .alloc = heap_alloc,
        .free = heap_free,
        .usable_size = usable_size,
        .owns = owns,
        .stats = heap_stats,
        .fork_prepare = lock,
        .fork_parent = unlock,
        .fork_child = unlock,
    };
    void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    heap.base = heap.next = room;
    heap.end = heap.base + ROOM;
    return &table;
}
