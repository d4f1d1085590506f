/* The floor: a library to preload that forwards every call of the heap to glibc and counts it, and does
 * nothing else. What a recorder costs beyond this, it costs by itself.
 *
 * Each thread counts in a cache line of its own, in a file that all of a process's threads map
 * (BENCH_COUNT/PID.TIME, 64 bytes a thread), so that the counts are there however the process ends. The words
 * of a line: malloc, calloc, realloc, aligned, free of a block. A thread that ends leaves its line to another;
 * threads beyond the last line share it, and lose some.
 * Calls that a process makes before this library is initialised are counted nowhere; there are a few. */
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

/* glibc's own names for its functions: no look-up is needed, and nothing is called on the way. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

enum { LINES = 4096 };
enum { MALLOC, CALLOC, REALLOC, ALIGNED, FREE };
typedef struct {
    uint64_t calls[8];
} line_t;

static line_t nowhere;
static line_t *lines;
static __thread line_t *own __attribute__((tls_model("initial-exec")));

/* Lines that nobody counts in, under the lock: what was never taken, and what was left. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned taken, left;
static line_t *left_lines[LINES];
static pthread_key_t key;

static void open_lines(void) {
    lines = NULL;
    taken = left = 0;
    own = NULL;
    pthread_mutex_init(&lock, NULL);
    const char *directory = getenv("BENCH_COUNT");
    struct timespec t;
    char path[4096];
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (directory == NULL) return;
    snprintf(path, sizeof path, "%s/%d.%lld%09ld", directory, (int)getpid(), (long long)t.tv_sec, t.tv_nsec);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (ftruncate(file, LINES * sizeof(line_t)) == 0) {
        void *map = mmap(NULL, LINES * sizeof(line_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) lines = map;
    }
    close(file);
}

static void leave_line(void *line) {
    own = NULL;
    pthread_mutex_lock(&lock);
    if (left < LINES && line != &lines[LINES - 1]) left_lines[left++] = line;
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void begin(void) {
    pthread_key_create(&key, leave_line);
    open_lines();
    pthread_atfork(NULL, NULL, open_lines);
}

static __attribute__((noinline, cold)) line_t *take_line(void) {
    if (lines == NULL) return &nowhere;
    pthread_mutex_lock(&lock);
    if (left > 0)
        own = left_lines[--left];
    else
        own = &lines[taken < LINES - 1 ? taken++ : LINES - 1];
    pthread_mutex_unlock(&lock);
    pthread_setspecific(key, own);
    return own;
}

static inline void count(int call) {
    line_t *line = own;
    if (__builtin_expect(line == NULL, 0)) line = take_line();
    line->calls[call]++;
}

void *malloc(size_t size) {
    count(MALLOC);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    count(CALLOC);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size) {
    count(REALLOC);
    return __libc_realloc(p, size);
}

void free(void *p) {
    if (p == NULL) return;
    count(FREE);
    __libc_free(p);
}

void *memalign(size_t alignment, size_t size) {
    count(ALIGNED);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(ALIGNED);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    count(ALIGNED);
    void *p = __libc_memalign(alignment, size);
    if (p == NULL) return ENOMEM;
    *out = p;
    return 0;
}
