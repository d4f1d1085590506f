// What the test programs share: their own count of calls, kept in a file that outlives them, and cases
// by name. A call is counted after it has returned, by the thread that made it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 1024

// Slot 0 is not a thread's: its `malloc` is the next slot, `calloc` the program's pid, `realloc` is 1 once
// all calls have been made. Who runs it writes 1 to its `aligned` to end the rounds of `worker`.
struct counts { _Atomic uint64_t malloc, calloc, realloc, aligned, free, pad[3]; };

static struct counts *counts_table;
static __thread struct counts *counts_mine;

static void counts_open(void) {
    size_t bytes = SLOTS * sizeof(struct counts);
    const char *path = getenv("COUNTS");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0 && ftruncate(fd, bytes) == 0)
        counts_table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    else
        counts_table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts_table == MAP_FAILED) { perror("counts"); _exit(99); }
    if (fd >= 0) close(fd);
    counts_table[0].calloc = getpid();
}

static struct counts *mine(void) {
    if (!counts_mine) counts_mine = &counts_table[1 + atomic_fetch_add(&counts_table[0].malloc, 1) % (SLOTS - 1)];
    return counts_mine;
}

#define COUNTED(kind, call) ({ __auto_type result_ = (call); mine()->kind++; result_; })
#define MALLOC(n) COUNTED(malloc, malloc(n))
#define CALLOC(n, s) COUNTED(calloc, calloc(n, s))
#define REALLOC(p, n) COUNTED(realloc, realloc(p, n))
#define ALIGNED(a, n) COUNTED(aligned, memalign(a, n))
#define FREE(p) ({ void *p_ = (p); free(p_); if (p_) mine()->free++; })

struct test_case { const char *name; int (*run)(int argc, char **argv); };

static int run_case(const struct test_case *cases, int argc, char **argv) {
    counts_open();
    for (; cases->name; cases++)
        if (argc > 1 && strcmp(cases->name, argv[1]) == 0) return cases->run(argc, argv);
    fprintf(stderr, "no such case\n");
    return 98;
}
