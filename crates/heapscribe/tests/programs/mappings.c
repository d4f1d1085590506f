// Maps memory of its own in every way, and counts by itself what it has: mappings. Prints, in bytes: mapped at the end,
// by the break, without rights, the most at a time; and what errno was left as.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static size_t live, most, reserved, at_break;

static void more(size_t bytes) {
    live += bytes;
    if (live > most) most = live;
}

static char *mapped(void *p) {
    if (p == MAP_FAILED) abort();
    return p;
}

// 100 pages, of which every second one goes: 50 pieces stay.
__attribute__((noinline)) static void splits(void) {
    char *p = mapped(mmap(NULL, 100 * PAGE, RW, ANON, -1, 0));
    more(100 * PAGE);
    for (int i = 0; i < 100; i += 2) {
        if (munmap(p + i * PAGE, i == 98 ? 100 : PAGE) != 0) abort();
        live -= PAGE;
    }
}

__attribute__((noinline)) static void moves(void) {
    char *p = mapped(mmap(NULL, 10 * PAGE, RW, ANON, -1, 0));
    more(10 * PAGE);
    p[0] = 7;
    char *barrier = mapped(mmap(NULL, 300 * PAGE, PROT_NONE, ANON, -1, 0));
    p = mapped(mremap(p, 10 * PAGE, 20 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, barrier));
    reserved += 280 * PAGE;  // the rest of the barrier
    more(10 * PAGE);
    if (p[0] != 7) abort();
    p = mapped(mremap(p, 20 * PAGE, 5 * PAGE, 0));
    live -= 15 * PAGE;
    if (munmap(barrier + 20 * PAGE, 280 * PAGE) != 0) abort();
    reserved -= 280 * PAGE;
}

__attribute__((noinline)) static void over(void) {
    char *p = mapped(mmap(NULL, 64 * PAGE, RW, ANON, -1, 0));
    more(64 * PAGE);
    mapped(mmap(p + 8 * PAGE, 8 * PAGE, RW, ANON | MAP_FIXED, -1, 0));  // over its own
    int fd = open("/proc/self/exe", O_RDONLY);
    mapped(mmap(p + 32 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0));  // a file over its own
    live -= PAGE;
    mapped(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0));
    mapped(mmap(NULL, 2 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    close(fd);
}

// Address space first, of which a part becomes memory, then code.
__attribute__((noinline)) static void jit(void) {
    char *p = mapped(mmap(NULL, 1000 * PAGE, PROT_NONE, ANON | MAP_NORESERVE, -1, 0));
    reserved += 1000 * PAGE;
    if (mprotect(p + PAGE, 16 * PAGE, RW) != 0) abort();
    reserved -= 16 * PAGE;
    more(16 * PAGE);
    p[PAGE] = (char)0xc3;  // ret
    if (mprotect(p + PAGE, PAGE, PROT_READ | PROT_EXEC) != 0) abort();
    ((void (*)(void))(uintptr_t)(p + PAGE))();
    if (mprotect(p + 9 * PAGE, 8 * PAGE, PROT_NONE) != 0) abort();
    live -= 8 * PAGE;
    reserved += 8 * PAGE;
}

__attribute__((noinline)) static void the_break(void) {
    char *before = sbrk(0);
    if (sbrk(3 * 4096) != before) abort();
    at_break += 3 * PAGE;
    more(3 * PAGE);
    if (brk(before + 10000) != 0) abort();
    at_break -= 3 * PAGE - 10000;
    live -= 3 * PAGE - 10000;
}

static void failures(void) {
    errno = 0;
    if (mmap(NULL, 0, RW, ANON, -1, 0) != MAP_FAILED || errno != EINVAL) abort();
    if (munmap((void *)1, PAGE) == 0 || mprotect((void *)PAGE, PAGE, RW) == 0) abort();
    if (mremap((void *)PAGE, PAGE, PAGE, 0) != MAP_FAILED) abort();
    // The C library calls these a success, and the break stays where it is.
    brk((void *)1);
    sbrk(-((intptr_t)1 << 46));
    errno = 42;
    void *p = mapped(mmap(NULL, PAGE, RW, ANON, -1, 0));
    if (munmap(p, PAGE) != 0 || errno != 42) abort();
}

// Each thread unmaps what another has mapped, at once.
static char *shared[64];

static void *maps(void *arg) {
    for (int round = 0; round < 200; round++)
        for (int i = 0; i < 64; i++) {
            char *new = round % 7 == 6 ? NULL : mapped(mmap(NULL, (size_t)(1 + i % 3) * PAGE, RW, ANON, -1, 0));
            char *old = __atomic_exchange_n(&shared[i], new, __ATOMIC_ACQ_REL);
            if (old) munmap(old, (size_t)(1 + i % 3) * PAGE);
        }
    return arg;
}

static void threads(void) {
    pthread_t ids[4];
    for (int i = 0; i < 4; i++) pthread_create(&ids[i], NULL, maps, NULL);
    for (int i = 0; i < 4; i++) pthread_join(ids[i], NULL);
    for (int i = 0; i < 64; i++)
        if (shared[i]) live += (size_t)(1 + i % 3) * PAGE;
}

static void print(void) { printf("%zu %zu %zu %zu\n", live, at_break, reserved, most); fflush(stdout); }

int main(int argc, char **argv) {
    // Before the first call of the heap.
    char *first = mapped(mmap(NULL, 7 * PAGE, RW, ANON, -1, 0));
    more(7 * PAGE);
    first[0] = 1;
    free(malloc(10));
    if (argc > 1 && strcmp(argv[1], "threads") == 0) {
        threads();
        print();
        return 0;
    }
    splits();
    moves();
    over();
    jit();
    the_break();
    failures();
    fflush(stdout);
    if (fork() == 0) {  // what it unmaps is its parent's, which has it still
        munmap(first, 7 * PAGE);
        free(malloc(20));
        mapped(mmap(NULL, 9 * PAGE, RW, ANON, -1, 0));
        _exit(0);
    }
    wait(NULL);
    print();
    return 0;
}
