// Programs whose memory does not come back, each for one known reason. Says "ready", frees what is to blame at SIGUSR1
// and trims, says "freed", and ends at SIGUSR2.
#define _GNU_SOURCE
#include "heapscribe.h"
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MANY 200000
static char *kept[MANY];
static int used;

static char *filled(size_t size) {
    char *block = malloc(size);
    memset(block, 1, size);
    return block;
}

__attribute__((noinline)) static void keep(size_t size) { kept[used++] = filled(size); }

// Every hundredth block of 200 bytes is kept.
static void hundredth(void) {
    static char *all[MANY];
    for (int i = 0; i < MANY; i++) {
        if (i % 100 == 0) {
            keep(200);
        } else {
            all[i] = filled(200);
        }
    }
    for (int i = 0; i < MANY; i++) free(all[i]);
}

// Blocks of 500 bytes between blocks of 3,000, which are freed.
static void interleaved(void) {
    static char *large[8000];
    for (int i = 0; i < 8000; i++) {
        keep(500);
        large[i] = filled(3000);
    }
    for (int i = 0; i < 8000; i++) free(large[i]);
}

// A cache of full pages between what is freed.
static void middle(void) {
    static char *before[20000], *after[20000];
    for (int i = 0; i < 20000; i++) before[i] = filled(1000);
    for (int i = 0; i < 10000; i++) keep(1000);
    for (int i = 0; i < 20000; i++) after[i] = filled(1000);
    for (int i = 0; i < 20000; i++) free(before[i]);
    for (int i = 0; i < 20000; i++) free(after[i]);
}

// Blocks that have mappings of their own.
static void mapped(void) {
    for (int i = 0; i < 50; i++) keep(200000);
}

// 64 threads that end; each leaves one block behind what it has freed.
static pthread_barrier_t all_run;
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;
static void *thread(void *unused) {
    char *blocks[4000];
    for (int i = 0; i < 4000; i++) blocks[i] = filled(100);
    pthread_mutex_lock(&keeping);
    keep(100);
    pthread_mutex_unlock(&keeping);
    pthread_barrier_wait(&all_run);
    for (int i = 0; i < 4000; i++) free(blocks[i]);
    return unused;
}

static void arenas(void) {
    pthread_t threads[64];
    pthread_barrier_init(&all_run, NULL, 64);
    for (int i = 0; i < 64; i++) pthread_create(&threads[i], NULL, thread, NULL);
    for (int i = 0; i < 64; i++) pthread_join(threads[i], NULL);
}

// Seven blocks of each size that a thread caches.
#define CACHED (7 * 64)
static void hoard(char **blocks, int allocate) {
    for (int i = 0; i < CACHED; i++) {
        if (allocate) {
            blocks[i] = filled(24 + i / 7 * 16);
        } else {
            free(blocks[i]);
        }
    }
}

static void say_mallinfo(void) {
    struct mallinfo info = mallinfo();
    printf("mallinfo %d %d %d\n", info.fordblks, info.fsmblks, info.keepcost);
}

// Free memory in each of glibc's lists.
static void lists(void) {
    static char *cached[CACHED], *fast[1000], *binned[100], *top[100];
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    hoard(cached, 1);
    for (int i = 0; i < 1000; i++) fast[i] = filled(64);
    for (int i = 0; i < 100; i++) {
        binned[i] = filled(2000);
        keep(2000);
    }
    for (int i = 0; i < 100; i++) top[i] = filled(100000);
    for (int i = 0; i < 100; i++) free(top[i]);
    for (int i = 0; i < 100; i++) free(binned[i]);
    hoard(cached, 0);
    for (int i = 0; i < 1000; i++) free(fast[i]);
    say_mallinfo();
}

// 64 threads that run, each with a full cache.
static void *hoarder(void *unused) {
    char *blocks[CACHED];
    hoard(blocks, 1);
    hoard(blocks, 0);
    pthread_barrier_wait(&all_run);
    sigset_t none;
    sigemptyset(&none);
    sigaddset(&none, SIGCONT);
    for (int signal;;) sigwait(&none, &signal);
    return unused;
}

static void hoarders(void) {
    pthread_t threads[64];
    pthread_barrier_init(&all_run, NULL, 65);
    for (int i = 0; i < 64; i++) pthread_create(&threads[i], NULL, hoarder, NULL);
    pthread_barrier_wait(&all_run);
}

// 40 MB in one list of a cache that GLIBC_TUNABLES let grow.
static void hoarded(void) {
    static char *all[40000];
    for (int i = 0; i < 40000; i++) all[i] = filled(1000);
    for (int i = 0; i < 40000; i++) free(all[i]);
    keep(1000);
}

// What the heap does not know: a mapping of the program's own.
static void own_mapping(void) {
    size_t bytes = 32 << 20;
    memset(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, bytes);
    keep(1000);
}

// 48 MiB of blocks, and 32 MiB of a heap that is linked in: known by the name of a function.
__attribute__((noinline)) void *je_malloc(size_t bytes) {
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void linked_heap(void) {
    for (int i = 0; i < 48 << 10; i++) keep(1000);
    for (int i = 0; i < 32; i++) memset(je_malloc(1 << 20), 1, 1 << 20);
}

static void end_section(const char *name) {
    heapscribe_section_end(name);
    if (getenv("TRIM_AT_MARKS")) malloc_trim(0);
}

// A request, of which every hundredth block of 200 bytes stays; half of them its parser's.
static void request(void) {
    static char *all[20000];
    heapscribe_section_begin("request");
    for (int i = 0; i < 20000; i++) {
        if (i == 10000) heapscribe_section_begin("parse");
        if (i % 100 == 0) {
            keep(200);
        } else {
            all[i] = filled(200);
        }
    }
    for (int i = 0; i < 20000; i++) free(all[i]);
    end_section("parse");
    end_section("request");
    keep(200);
}

// A block that grows by half 18 times and is freed: what it left behind each time is free, up to a small block.
static void chain(void) {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    size_t size = 20000;
    char *block = filled(size);
    for (int i = 0; i < 18; i++) {
        keep(200);
        size += size / 2;
        block = realloc(block, size);
        memset(block, 1, size);
    }
    keep(200);
    free(block);
}

// Every thousandth block of 2,000 bytes is kept, in a heap of huge pages, where the kernel has any.
static void huge(void) {
    static char *all[30000];
    mallopt(M_TOP_PAD, 80 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    char *first = malloc(1);
    uintptr_t from = ((uintptr_t)first + (2 << 20)) & -(2 << 20);
    madvise((void *)from, 64 << 20, MADV_HUGEPAGE);
    for (int i = 0; i < 30000; i++) {
        if (i % 1000 == 999) {
            keep(2000);
        } else {
            all[i] = filled(2000);
        }
    }
    for (int i = 0; i < 30000; i++) free(all[i]);
}

// Where the mapping of a block begins.
static char *mapping_of(char *block) {
    char line[4096];
    unsigned long start = 0, end = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) && sscanf(line, "%lx-%lx", &start, &end) == 2 && end <= (uintptr_t)block) {}
    fclose(maps);
    return (char *)start;
}

static char *map_at(char *at, size_t bytes, int flags) {
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

// Memory that is one mapping with that of a block: below the first for which the heap has mapped more, and nothing else lies.
static char *map_below_a_block(size_t bytes) {
    char *mapping = MAP_FAILED;
    for (size_t size = 8 << 20; mapping == MAP_FAILED && size < 1 << 30; size *= 2) {
        char *block = malloc(size);
        mapping = map_at(mapping_of(block) - bytes, bytes, MAP_FIXED_NOREPLACE);
        free(block);
    }
    return mapping;
}

// For any heap: what it keeps of small blocks and of large ones, beside 8 MiB of the program's own. After a large request a
// heap that counts has counted.
static void heap_and_mapping(int is_right_below) {
    size_t bytes = 8 << 20;
    static char *all[20000];
    for (int i = 0; i < 20000; i++) {
        if (i % 100 == 0) {
            keep(200);
        } else {
            all[i] = filled(200);
        }
    }
    for (int i = 0; i < 20000; i++) free(all[i]);
    for (int i = 0; i < 4; i++) all[i] = filled(3000000);
    for (int i = 1; i < 4; i++) free(all[i]);
    char *mapping = is_right_below ? map_below_a_block(bytes) : map_at(NULL, bytes, 0);
    memset(mapping, 1, bytes);
    keep(100000);
}

static void any_heap(void) { heap_and_mapping(0); }

// The kernel makes the program's mapping and one of the heap's one.
static void shared_mapping(void) { heap_and_mapping(1); }

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"hundredth", hundredth}, {"interleaved", interleaved}, {"middle", middle},   {"mapped", mapped},
    {"arenas", arenas},       {"lists", lists},             {"hoarders", hoarders}, {"hoarded", hoarded},
    {"own_mapping", own_mapping}, {"linked_heap", linked_heap}, {"request", request},
    {"chain", chain}, {"huge", huge}, {"any_heap", any_heap}, {"shared_mapping", shared_mapping},
};

int main(int argc, char **argv) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) kinds[i].run();
    }
    puts("ready");
    int signal;
    sigwait(&signals, &signal);
    if (signal == SIGUSR1) {
        malloc_trim(0);
        for (int i = 0; i < used; i++) free(kept[i]);
        malloc_trim(0);
        puts("freed");
        sigwait(&signals, &signal);
    }
    return 0;
}
