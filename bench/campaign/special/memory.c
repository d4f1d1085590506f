/* What a heap promises: sizes, alignments, failures, errno, limits. */
#include "parts.h"
#include <malloc.h>

static void huge(int argc, char **argv) {
    char *block = malloc(1ul << 32);
    said("4 GiB", block != NULL);
    block[0] = block[(1ul << 32) - 1] = 1;
    block = realloc(block, 3ul << 31);
    said("grown", block != NULL && block[0] == 1 && block[(1ul << 32) - 1] == 1);
    block = realloc(block, 100);
    said("shrunk", block[0]);
    free(block);
    block = calloc(1 << 15, 1 << 15);
    said("zeros", block[12345678] == 0);
    free(block);
}

static void fails(int argc, char **argv) {
    volatile size_t too_much = (size_t)PTRDIFF_MAX + 1, half = SIZE_MAX / 2 + 2;
    void *block = malloc(10);
    errno = 0;
    said("malloc", malloc(too_much) == NULL && errno == ENOMEM);
    errno = 0;
    said("calloc", calloc(half, 2) == NULL && errno == ENOMEM);
    errno = 0;
    said("realloc", realloc(block, too_much) == NULL && errno == ENOMEM);
    errno = 0;
    said("reallocarray", reallocarray(block, half, 2) == NULL && errno == ENOMEM);
    void *out = block;
    said("posix_memalign", posix_memalign(&out, 64, too_much) == ENOMEM && out == block);
    said("bad alignment", posix_memalign(&out, 3, 8));
    free(block);
}

static void nothing(int argc, char **argv) {
    volatile size_t zero = 0;
    void *a = malloc(zero), *b = malloc(zero), *c = calloc(zero, 8);
    said("of their own", a != NULL && b != NULL && a != b && c != NULL);
    free(a);
    free(NULL);
    said("freed by realloc", realloc(b, zero) == NULL);
    c = realloc(c, 50);
    free(realloc(NULL, 0));
    free(c);
}

static void aligned(int argc, char **argv) {
    for (size_t alignment = 1; alignment <= 1 << 20; alignment *= 2) {
        for (size_t size = 0; size < 5000; size = size * 2 + 1) {
            void *a = memalign(alignment, size), *b = NULL, *c = aligned_alloc(alignment, size);
            if (alignment >= sizeof(void *) && posix_memalign(&b, alignment, size) != 0) abort();
            if (((uintptr_t)a | (uintptr_t)b | (uintptr_t)c) % alignment != 0 || a == NULL || c == NULL) abort();
            memset(a, 1, size);
            memset(c, 2, size);
            a = realloc(a, size + 100);
            free(a);
            free(b);
            free(c);
        }
    }
    void *page = valloc(5), *pages = pvalloc(5);
    said("pages", ((uintptr_t)page | (uintptr_t)pages) % 4096 == 0);
    free(page);
    free(pages);
}

static void odd_alignment(int argc, char **argv) {
    volatile size_t odd = 24;
    errno = 0;
    void *block = aligned_alloc(odd, 240);
    said("given", block != NULL);
    said("errno", errno);
    free(block);
}

static void usable(int argc, char **argv) {
    for (size_t size = 1; size < 200000; size = size * 3 / 2 + 1) {
        unsigned char *block = malloc(size);
        size_t all = malloc_usable_size(block);
        if (all < size) abort();
        memset(block, 7, all);
        block = realloc(block, all + 1);
        if (block[all - 1] != 7) abort();
        free(block);
    }
    said("of nothing", (long)malloc_usable_size(NULL));
}

static void errno_is_kept(int argc, char **argv) {
    void *blocks[400];
    errno = 77;
    for (size_t i = 0; i < 400; i++) blocks[i] = malloc(i * i);
    said("malloc", errno);
    for (size_t i = 0; i < 400; i++) free(blocks[i]);
    said("free", errno);
    free(realloc(malloc(5), 500000));
    said("realloc", errno);
}

static void locked(int argc, char **argv) {
    said("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
    said("work", (long)work(5000));
    said("thread", (long)end_thread(begin_thread(in_thread, (void *)500, 64 << 10)));
    pid_t child = fork();
    if (child == 0) _exit((int)(work(100) % 50));
    said("code", ended(child));
}

static void limited(int resource, rlim_t value) {
    struct rlimit limit = {value, value};
    if (setrlimit(resource, &limit) != 0) perror("setrlimit");
}

/* All that can be had, given back, had once more. */
static void exhausted(int argc, char **argv) {
    static void *blocks[10000];
    limited(argc > 2 ? RLIMIT_DATA : RLIMIT_AS, 300 << 20);
    for (int round = 0; round < 3; round++) {
        int n = 0;
        while (n < 10000 && (blocks[n] = malloc(1 << 20)) != NULL) n++;
        said("some and not all", n > 50 && n < 10000);
        said("errno", errno);
        while (n > 0) free(blocks[--n]);
    }
    said("work", (long)work(3000));
}

static void few_descriptors(int argc, char **argv) {
    limited(RLIMIT_NOFILE, 3);
    said("fopen", fopen("/etc/passwd", "r") == NULL && errno == EMFILE);
    said("work", (long)work(3000));
    pid_t child = fork();
    if (child == 0) _exit((int)(work(100) % 50));
    said("code", ended(child));
}

static void small_files(int argc, char **argv) {
    limited(RLIMIT_FSIZE, 8192);
    said("work", (long)work(20000));
    FILE *file = fopen("small", "w");
    for (int i = 0; i < 4000; i++) fputc('x', file);
    said("written", fclose(file));
}

static void no_more_cpu(int argc, char **argv) {
    limited(RLIMIT_CORE, 0);
    setrlimit(RLIMIT_CPU, &(struct rlimit){1, 9});
    for (;;) work(1000);
}

static void tuned(int argc, char **argv) {
    said("mallopt", mallopt(M_MMAP_THRESHOLD, 1 << 20));
    void *block = malloc(100000);
    free(block);
    said("trim", malloc_trim(0) >= 0);
    struct mallinfo2 info = mallinfo2();
    said("info", info.arena < 1ul << 40);
}

static void a_million(int argc, char **argv) { said("work", (long)work(1000000)); }

static void grows(int argc, char **argv) {
    unsigned char *block = NULL;
    for (size_t size = 1; size < 3000000; size += size / 50 + 1) {
        block = realloc(block, size);
        block[size - 1] = (unsigned char)size;
    }
    said("first", block[0]);
    free(block);
}

static void shared(int argc, char **argv) {
    int file = memfd_create("shared", 0);
    if (ftruncate(file, 16 << 20) != 0) abort();
    char *map = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pid_t child = fork();
    if (child == 0) {
        memset(map, 5, 16 << 20);
        _exit((int)(work(300) % 50));
    }
    said("code", ended(child));
    said("shared", map[15 << 20]);
    char *brk = sbrk(100000);
    memset(brk, 1, 100000);
    said("work", (long)work(3000));
}

static void freed_twice(int argc, char **argv) {
    void *volatile block = malloc(50);
    limited(RLIMIT_CORE, 0);
    free(block);
    free(block);
}

static const struct part parts[] = {
    {"huge", huge}, {"fails", fails}, {"nothing", nothing}, {"aligned", aligned},
    {"odd_alignment", odd_alignment}, {"usable", usable}, {"errno_is_kept", errno_is_kept},
    {"locked", locked}, {"exhausted", exhausted}, {"few_descriptors", few_descriptors},
    {"small_files", small_files}, {"no_more_cpu", no_more_cpu}, {"tuned", tuned}, {"a_million", a_million},
    {"grows", grows}, {"shared", shared}, {"freed_twice", freed_twice},
};
MAIN(parts)
