// Every entry point of the heap with the arguments at the edges: prints what came of it, the same
// recorded or not. Its last line says how many calls of each kind it made itself.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *reallocarray(void *, size_t, size_t);

static unsigned mallocs, callocs, reallocs, aligneds, frees;

#define SAY(p, ...) say((p), errno, __VA_ARGS__)
#define KEPT 4711
static void *volatile sink;

static size_t alignment_of(void *p) { return (uintptr_t)p & -(uintptr_t)p; }

static void say(void *p, int error, size_t align, const char *what) {
    printf("%s: %s errno %d aligned %d\n", what, p ? "block" : "null", error, !p || alignment_of(p) >= align);
    errno = KEPT;
}

static void drop(void *p) {
    errno = KEPT;
    free(p);
    frees += p != NULL;
    if (errno != KEPT) printf("free changed errno to %d\n", errno);
}

static void small_and_huge(void) {
    void *p;
    mallocs += 3; callocs += 5;
    p = malloc(0); SAY(p, 16, "malloc(0)"); drop(p);
    p = malloc(25); SAY(p, 16, "malloc(25)"); printf("usable %zu\n", malloc_usable_size(p)); drop(p);
    p = malloc((size_t)PTRDIFF_MAX + 1); SAY(p, 16, "malloc(huge)"); drop(p);
    p = calloc(0, 5); SAY(p, 16, "calloc(0, 5)"); drop(p);
    p = calloc(5, 0); SAY(p, 16, "calloc(5, 0)"); drop(p);
    // agnocast #722
    p = calloc(SIZE_MAX / 2, 3); SAY(p, 16, "calloc(overflow)"); drop(p);
    p = calloc((size_t)1 << 33, (size_t)1 << 33); SAY(p, 16, "calloc(overflow to 4)"); drop(p);
    p = calloc(100, 100); SAY(p, 16, "calloc(100, 100)");
    for (int i = 0; i < 10000; i++) if (((char *)p)[i]) printf("calloc not zero at %d\n", i);
    drop(p);
    // heaphook: SEGV at 2^56
    mallocs++;
    p = malloc((size_t)1 << 56); SAY(p, 16, "malloc(2^56)"); drop(p);
    printf("usable of null %zu\n", malloc_usable_size(NULL));
    errno = KEPT; free(NULL); printf("free(null) errno %d\n", errno);
}

static void fill(void *p, size_t n) { memset(p, 0x5a, n); }

static int is_filled(void *p, size_t n) {
    for (size_t i = 0; i < n; i++) if (((unsigned char *)p)[i] != 0x5a) return 0;
    return 1;
}

static void resizing(void) {
    void *p, *q;
    reallocs += 6;
    // agnocast #705
    p = realloc(NULL, 100); SAY(p, 16, "realloc(null, 100)"); fill(p, 100);
    q = realloc(p, (size_t)PTRDIFF_MAX + 1); SAY(q, 16, "realloc(p, huge)"); printf("kept %d\n", is_filled(p, 100));
    q = realloc(p, 100000); SAY(q, 16, "realloc(p, 100000)"); printf("moved over %d\n", is_filled(q, 100));
    p = realloc(q, 10); SAY(p, 16, "realloc(p, 10)"); printf("shrunk over %d\n", is_filled(p, 10));
    q = realloc(p, 0); SAY(q, 16, "realloc(p, 0)"); drop(q);
    q = realloc(NULL, 0); SAY(q, 16, "realloc(null, 0)"); drop(q);
    reallocs += 4;
    p = reallocarray(NULL, 10, 10); SAY(p, 16, "reallocarray(null, 10, 10)"); fill(p, 100);
    q = reallocarray(p, SIZE_MAX / 2, 3); SAY(q, 16, "reallocarray(overflow)"); printf("kept %d\n", is_filled(p, 100));
    q = reallocarray(p, 30, 10); SAY(q, 16, "reallocarray(p, 30, 10)"); printf("moved over %d\n", is_filled(q, 100));
    p = reallocarray(NULL, SIZE_MAX, 2); SAY(p, 16, "reallocarray(null, overflow)");
    drop(q);
    // agnocast #1109, heaphook bug 2: realloc of an over-aligned block shifted the contents
    for (int i = 0; i < 200; i++) {
        aligneds++; reallocs++;
        p = memalign(1024, 300); fill(p, 300);
        p = realloc(p, 5000 + i);
        if (!is_filled(p, 300)) printf("round %d corrupted\n", i);
        drop(p);
    }
}

static void posix_one(size_t align, size_t size) {
    void *p = (void *)0x77;
    char what[80];
    aligneds++;
    errno = KEPT;
    int result = posix_memalign(&p, align, size);
    snprintf(what, sizeof what, "posix_memalign(%zu, %zu) = %d", align, size, result);
    // bytehound writes NULL into *memptr
    if (result) { printf("untouched %d ", p == (void *)0x77); SAY(NULL, align, what); return; }
    SAY(p, align, what); drop(p);
}

static void aligned(void) {
    void *p;
    size_t aligns[] = { 0, 4, 8, 16, 24, 64, 4096, (size_t)1 << 20, (size_t)1 << 63 };
    for (unsigned i = 0; i < sizeof aligns / sizeof *aligns; i++) posix_one(aligns[i], 100);
    posix_one(64, 0);
    posix_one(64, (size_t)PTRDIFF_MAX);
    posix_one(64, SIZE_MAX);
    aligneds += 8;
    p = aligned_alloc(3, 100); SAY(p, 1, "aligned_alloc(3, 100)"); drop(p);
    // agnocast #713: small alignments must still give 16
    p = aligned_alloc(8, 100); SAY(p, 16, "aligned_alloc(8, 100)"); drop(p);
    p = aligned_alloc(64, 10); SAY(p, 64, "aligned_alloc(64, 10)"); drop(p);
    p = aligned_alloc(64, SIZE_MAX - 10); SAY(p, 64, "aligned_alloc(64, huge)"); drop(p);
    p = memalign(3, 100); SAY(p, 1, "memalign(3, 100)"); drop(p);
    p = memalign(0, 100); SAY(p, 1, "memalign(0, 100)"); drop(p);
    p = memalign(1, 100); SAY(p, 1, "memalign(1, 100)"); drop(p);
    p = memalign(32, 0); SAY(p, 32, "memalign(32, 0)"); drop(p);
    aligneds += 2;
    p = valloc(0); SAY(p, 4096, "valloc(0)"); drop(p);
    p = valloc(5000); SAY(p, 4096, "valloc(5000)"); fill(p, 5000); drop(p);
    // Heaps that have none leave it to glibc's, whose block they then do not know.
#if defined(__GLIBC__) && !defined(OTHER_HEAP)
    size_t sizes[] = { 0, 1, 4096, 4097, SIZE_MAX - 5 };
    for (int i = 0; i < 5; i++) {
        // heaphook bug 8: pvalloc masks with -(page - 1)
        aligneds++;
        errno = KEPT;
        p = pvalloc(sizes[i]); SAY(p, 4096, "pvalloc");
        printf("whole pages %d\n", !p || malloc_usable_size(p) >= (sizes[i] + 4095) / 4096 * 4096);
        drop(p);
    }
#endif
}

static void usable(void) {
    // mimalloc #231: all of it can be written, also of aligned blocks
    for (size_t n = 1; n < 3000; n += 97) {
        void *p = malloc(n), *q = memalign(256, n);
        mallocs++; aligneds++;
        fill(p, malloc_usable_size(p)); fill(q, malloc_usable_size(q));
        if (malloc_usable_size(p) < n || malloc_usable_size(q) < n) printf("usable of %zu too small\n", n);
        drop(p); drop(q);
    }
}

typedef void (*sized_free)(void *, size_t);
typedef void (*aligned_free)(void *, size_t, size_t);
typedef void (*plain_free)(void *);

// The newer and older names of free are used if they are there; whether they are is not printed.
static void other_frees(void) {
    sized_free f1 = (sized_free)dlsym(RTLD_DEFAULT, "free_sized");
    aligned_free f2 = (aligned_free)dlsym(RTLD_DEFAULT, "free_aligned_sized");
    plain_free f3 = NULL;
#if defined(__GLIBC__) && !defined(OTHER_HEAP)
    f3 = (plain_free)dlsym(RTLD_DEFAULT, "cfree");
    if (!f3) f3 = (plain_free)dlvsym(RTLD_DEFAULT, "cfree", "GLIBC_2.2.5");
#endif
    mallocs += 2; aligneds++; frees += 3;
    void *p = malloc(30), *q = aligned_alloc(64, 128), *r = malloc(40);
    errno = KEPT;
    if (f1) f1(p, 30); else free(p);
    if (f2) f2(q, 64, 128); else free(q);
    if (f3) f3(r); else free(r);
    printf("other frees errno %d\n", errno);
    if (f1) f1(NULL, 0);
    if (f3) f3(NULL);
}

int main(void) {
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    errno = KEPT;
    small_and_huge();
    resizing();
    aligned();
    usable();
    other_frees();
    printf("counts %u %u %u %u %u\n", mallocs, callocs, reallocs, aligneds, frees);
    return 0;
}
