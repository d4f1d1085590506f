/* What went wrong in heaphook's libraries, each a mode: `heaps MODE [FILE]`. Ends with 0 and says "ok" when it goes
   right. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __GLIBC__ /* musl has none */
#define pvalloc(size) valloc(((size_t)(size) + 4095) & ~(size_t)4095 ? ((size_t)(size) + 4095) & ~(size_t)4095 : (size_t)(size))
#endif
#define MUST(what) do { if (!(what)) { dprintf(2, "line %d: %s\n", __LINE__, #what); _exit(1); } } while (0)

static void fill(unsigned char *p, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; i++) p[i] = (unsigned char)(seed + i * 7);
}
static int holds(const unsigned char *p, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; i++) if (p[i] != (unsigned char)(seed + i * 7)) return 0;
    return 1;
}

/* The address of a block that another thread has just freed comes back soon. */
static void *worker(void *argument) {
    unsigned seed = (unsigned)(uintptr_t)argument, random = seed * 2654435761u + 1;
    unsigned char *blocks[64] = {0};
    size_t sizes[64] = {0};
    for (int i = 0; i < 6000; i++) {
        random = random * 1103515245u + 12345u;
        unsigned at = random >> 26, size = 1 + (random >> 8) % 900;
        if (blocks[at] && random & 64) {
            MUST(holds(blocks[at], sizes[at], seed + at));
            size_t kept = sizes[at] < size ? sizes[at] : size;
            MUST(blocks[at] = realloc(blocks[at], size));
            MUST(holds(blocks[at], kept, seed + at));
        } else {
            if (blocks[at]) MUST(holds(blocks[at], sizes[at], seed + at));
            free(blocks[at]);
            switch (random >> 4 & 3) {
            case 0: MUST(blocks[at] = memalign(64u << (random >> 20 & 3), size)); break;
            case 1: MUST(blocks[at] = calloc(1, size)); break;
            default: MUST(blocks[at] = malloc(size));
            }
        }
        MUST(malloc_usable_size(blocks[at]) >= size);
        fill(blocks[at], sizes[at] = size, seed + at);
    }
    for (int i = 0; i < 64; i++) free(blocks[i]);
    return NULL;
}
static void threads(void) {
    pthread_t all[4];
    for (uintptr_t i = 0; i < 4; i++) MUST(!pthread_create(&all[i], NULL, worker, (void *)i));
    for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
}

/* A heap with one list of free blocks gives each thread what another has freed a moment ago. */
static void *passes(void *unused) {
    for (int i = 0; i < 60000; i++) {
        void *p = malloc(40);
        if (i % 4 == 0) p = realloc(p, 400);
        free(p);
    }
    return unused;
}
static void passing(void) {
    pthread_t all[4];
    for (int i = 0; i < 4; i++) MUST(!pthread_create(&all[i], NULL, passes, NULL));
    for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
}

static void realigned(void) {
    for (int i = 0; i < 2000; i++) {
        void *aligned, *near = malloc(24);
        size_t align = (size_t)32 << i % 8, size = 40 + i % 300;
        MUST(!posix_memalign(&aligned, align, size) && (uintptr_t)aligned % align == 0);
        fill(aligned, size, i);
        fill(near, 24, i);
        MUST(aligned = realloc(aligned, size * 3));
        MUST(holds(aligned, size, i));
        free(malloc(size));
        MUST(holds(aligned, size, i) && holds(near, 24, i));
        free(aligned);
        free(near);
    }
}

static volatile int stop;
static void *allocates(void *unused) {
    while (!stop) free(malloc(100));
    return unused;
}
static void forks(void) {
    pthread_t other;
    MUST(!pthread_create(&other, NULL, allocates, NULL));
    for (int i = 0; i < 300; i++) {
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            alarm(20);
            for (int j = 0; j < 10; j++) free(malloc(1000));
            _exit(0);
        }
        int status;
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
    stop = 1;
    pthread_join(other, NULL);
}

static void *allocates_once(void *unused) {
    char *volatile block = malloc(100);
    free(block);
    return unused;
}
/* The heap is being started by the other thread: with musl, whose threads need no memory to begin. */
static void forks_at_start(void) {
    pthread_t first;
    MUST(!pthread_create(&first, NULL, allocates_once, NULL));
    usleep(getpid() % 16 * 500);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        allocates_once(NULL);
        _exit(7);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    pthread_join(first, NULL);
}

static void impossible(void) {
    volatile size_t huge = (size_t)1 << 56;
    unsigned char *old = malloc(100);
    fill(old, 100, 1);
    errno = 0;
    MUST(!malloc(huge) && errno == ENOMEM);
    errno = 0;
    MUST(!calloc(huge, huge) && errno == ENOMEM);
    errno = 0;
    MUST(!realloc(old, huge) && errno == ENOMEM && holds(old, 100, 1));
    errno = 0;
    MUST(!aligned_alloc(64, huge) && errno == ENOMEM);
    void *none = old;
    MUST(posix_memalign(&none, 64, huge) == ENOMEM && none == old);
    free(old);
}

static pthread_barrier_t barrier;
static void *begins(void *unused) {
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 100; i++) free(malloc(50));
    return unused;
}
/* With musl nothing has allocated before these threads do. */
static void start(void) {
    pthread_t all[8];
    pthread_barrier_init(&barrier, NULL, 8);
    for (int i = 0; i < 8; i++) MUST(!pthread_create(&all[i], NULL, begins, NULL));
    for (int i = 0; i < 8; i++) pthread_join(all[i], NULL);
}

static void aligned(void) {
    for (size_t size = 1; size < 3000; size++) {
        void *p = malloc(size), *q = calloc(size, 1), *r = realloc(malloc(1), size);
        MUST(((uintptr_t)p | (uintptr_t)q | (uintptr_t)r) % 16 == 0);
        free(p), free(q), free(r);
    }
}

static void pages(void) {
    for (size_t size = 0; size < 20000; size += 617) {
        void *p = pvalloc(size), *q = valloc(size);
        MUST(((uintptr_t)p | (uintptr_t)q) % 4096 == 0);
        MUST(malloc_usable_size(p) >= (size + 4095) / 4096 * 4096);
        MUST(malloc_usable_size(q) >= size);
        free(p), free(q);
    }
    errno = 0;
    MUST(!pvalloc(SIZE_MAX - 100) && errno == ENOMEM);
}

static void shrinks(void) {
    unsigned char *p = malloc(100000);
    fill(p, 100, 3);
    p = realloc(p, 100);
    MUST(holds(p, 100, 3) && malloc_usable_size(p) < 50000);
    free(p);
}

/* In front of glibc's heap a handler may only ask what takes none of its locks. */
static void *known;
static int may_allocate;
static volatile int handled;
static void handler(int signal) {
    int before = errno;
    MUST(malloc_usable_size(known) >= 100);
    if (may_allocate) free(malloc(64));
    errno = before;
    handled++;
}
static void handlers(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 150}, {0, 150}}, never = {{0, 0}, {0, 0}};
    known = malloc(100);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 20000000 && handled < 500; i++) {
        errno = 77;
        void *p = malloc(100);
        p = realloc(p, 200);
        free(p);
        MUST(p ? errno == 77 : 1);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    MUST(handled >= 500);
}

/* As daemons do, before they open files of theirs. */
static void descriptors(const char *name) {
    free(malloc(10));
    for (int i = 3; i < 256; i++) close(i);
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), again = open(name, O_RDWR);
    MUST(file == 3 && again == 4);
    for (int i = 0; i < 30000; i++) free(malloc(77));
    MUST(write(file, "DATA", 4) == 4);
    char bytes[100];
    MUST(read(again, bytes, sizeof bytes) == 4 && !memcmp(bytes, "DATA", 4));
}

/* Eight threads on few cores: that one waits for the lock of another is not to be the rule. */
enum { CROWD = 8, CROWDED_CALLS = 50000 };
static void *crowded(void *unused) {
    for (int i = 0; i < CROWDED_CALLS; i++) free(malloc(1 + i % 250));
    return unused;
}
static void crowd(void) {
    pthread_t all[CROWD];
    for (int i = 0; i < CROWD; i++) MUST(!pthread_create(&all[i], NULL, crowded, NULL));
    for (int i = 0; i < CROWD; i++) MUST(!pthread_join(all[i], NULL));
    struct rusage used;
    MUST(!getrusage(RUSAGE_SELF, &used));
    if (used.ru_nvcsw >= CROWD * CROWDED_CALLS / 20) dprintf(2, "%ld waits\n", used.ru_nvcsw), _exit(1);
}

static void exhausted(void) {
    static void *blocks[100000];
    for (int round = 0; round < 3; round++) {
        int n = 0;
        errno = 0;
        while (n < 100000 && (blocks[n] = malloc(1000))) n++;
        MUST(n > 100 && n < 100000 && errno == ENOMEM);
        while (n > 0) free(blocks[--n]);
    }
}

static void many(void) {
    for (int i = 0; i < 200000; i++) free(malloc(123));
}

static void child(void) {
    free(malloc(1111));
    pid_t child = fork();
    if (child == 0) {
        free(malloc(2222));
        exit(0);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);
    free(malloc(3333));
    printf("%d ", child);
}

static void killed(void) {
    for (int i = 0; i < 5000; i++) free(malloc(4444));
    void *volatile last = malloc(5555);
    kill(getpid(), last ? SIGKILL : 0);
}

static void fails(void) {
    impossible();
    errno = 0;
    void *p = calloc(3, 7);
    p = realloc(p, 70000);
    p = realloc(p, 0);
    free(NULL);
    free(aligned_alloc(64, 6666));
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(void); } modes[] = {
        {"threads", threads}, {"passing", passing}, {"realigned", realigned}, {"forks", forks}, {"forks_at_start", forks_at_start}, {"impossible", impossible},
        {"start", start}, {"aligned", aligned}, {"pages", pages}, {"shrinks", shrinks}, {"handlers", handlers},
        {"exhausted", exhausted}, {"crowd", crowd}, {"many", many}, {"child", child}, {"killed", killed}, {"fails", fails},
    };
    may_allocate = argc > 2;
    if (argc > 2 && !strcmp(argv[1], "descriptors")) {
        descriptors(argv[2]);
        return puts("ok") < 0;
    }
    for (unsigned i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name)) {
            modes[i].run();
            return puts("ok") < 0;
        }
    return 2;
}
