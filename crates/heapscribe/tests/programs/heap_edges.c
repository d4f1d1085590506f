/* What a heap under a program must not make worse, each a mode: `heap_edges MODE`. Ends with 0 and says "ok" when it
   goes right. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(what) do { if (!(what)) { dprintf(1, "line %d: %s\n", __LINE__, #what); _exit(1); } } while (0)

static void work(int times) {
    unsigned random = (unsigned)(uintptr_t)&times;
    void *blocks[64] = {0};
    for (int i = 0; i < times; i++) {
        random = random * 1103515245u + 12345u;
        free(blocks[random >> 26]);
        blocks[random >> 26] = malloc((random >> 8) % 2000);
    }
    for (int i = 0; i < 64; i++) free(blocks[i]);
}

static volatile int is_over;
static void *works(void *unused) {
    while (!is_over) work(1000);
    return unused;
}

/* Children in their parent's memory, which allocate while its threads do. */
static void vforks(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) MUST(!pthread_create(&threads[i], NULL, works, NULL));
    for (int i = 0; i < 100; i++) {
        pid_t child = vfork();
        if (child == 0) {
            work(3000);
            _exit(0);
        }
        int status;
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
    is_over = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

/* All addresses that the program may have, in small blocks, and all freed again. */
static void addresses(void) {
    struct rlimit limit = {300 << 20, 300 << 20};
    free(malloc(1));
    MUST(!setrlimit(RLIMIT_AS, &limit));
    for (int round = 0; round < 3; round++) {
        void **last = NULL, **block;
        while ((block = malloc(1000))) {
            *block = last;
            last = block;
        }
        MUST(errno == ENOMEM);
        while ((block = last)) {
            last = *block;
            free(block);
        }
    }
}

/* Standard error is a file that may not be longer, or a pipe that nobody reads: who writes there is ended. The
   program does not. */
static void silent(void) {
    struct rlimit limit;
    int ends[2];
    MUST(!getrlimit(RLIMIT_FSIZE, &limit));
    limit.rlim_cur = 0;
    MUST(freopen("silent", "w", stderr) && !setrlimit(RLIMIT_FSIZE, &limit));
    work(1000);
    pid_t child = fork();
    if (child == 0) {
        MUST(!pipe(ends) && dup2(ends[1], 2) == 2 && !close(ends[0]));
        execl("/proc/self/exe", "heap_edges", "nothing", NULL);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);
    execl("/proc/self/exe", "heap_edges", "nothing", NULL);
}

static void ends(int signal) {
    exit(0);
}

/* Ended by a handler, in the middle of whatever it was at: it says so at the end, and nothing that is done then waits
   for the call that is not finished. */
static void exits(void) {
    work(1);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct itimerval once = {{0, 0}, {0, 2000 + i * 20}};
            signal(SIGALRM, ends);
            setitimer(ITIMER_REAL, &once, NULL);
            for (;;) work(100);
        }
        int status;
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
}

/* glibc's other names of the functions, for blocks of malloc and the other way round. */
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
void __libc_free(void *);
static void names(void) {
    for (size_t i = 1; i < 2000; i++) {
        unsigned char *blocks[] = {malloc(i), __libc_malloc(i), __libc_calloc(2, i), __libc_memalign(64, i), malloc(i)};
        for (int k = 0; k < 5; k++) {
            MUST(blocks[k]);
            memset(blocks[k], k, i);
            MUST(blocks[k] = k % 2 ? realloc(blocks[k], 3 * i) : __libc_realloc(blocks[k], 3 * i));
            MUST(blocks[k][i - 1] == k);
        }
        for (int k = 0; k < 5; k++) k % 2 ? __libc_free(blocks[k]) : free(blocks[k]);
    }
}

/* Under `ulimit -v 100000`: what pools have in reserve is not missing elsewhere. */
static void limited(void) {
    void *volatile block = malloc(1);
    MUST(block && mmap(NULL, 60 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    for (int i = 0; i < 25; i++) MUST(malloc(1 << 20));
}

/* Says "ok" in a file again. */
static void nothing(void) {
    struct rlimit limit;
    work(1000);
    MUST(!getrlimit(RLIMIT_FSIZE, &limit));
    limit.rlim_cur = limit.rlim_max;
    MUST(!setrlimit(RLIMIT_FSIZE, &limit));
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(void); } modes[] = {
        {"vforks", vforks}, {"addresses", addresses}, {"silent", silent}, {"exits", exits}, {"names", names}, {"limited", limited}, {"nothing", nothing},
    };
    for (unsigned i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name)) {
            modes[i].run();
            return dprintf(1, "ok\n") < 0;
        }
    return 2;
}
