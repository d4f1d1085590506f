// Threads that come and go, small and strange stacks, and what runs at a thread's and the program's end.
#include "counted.h"
#include <dlfcn.h>
#include <limits.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif

static void some(int n) {
    for (int i = 0; i < n; i++) { void *p = MALLOC(10 + i); p = REALLOC(p, 100 + i); FREE(p); }
}

static pthread_key_t keys[4];
static void key_ends(void *value) {
    some(5);
    FREE(value);
    // Comes again, up to PTHREAD_DESTRUCTOR_ITERATIONS times.
    static __thread int again;
    if (again++ < 8) pthread_setspecific(keys[0], MALLOC(33));
}

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *) __attribute__((weak));
extern void *__dso_handle;
static void tls_ends(void *p) { FREE(p); some(3); }

static void *with_keys(void *arg) {
    for (int i = 0; i < 4; i++) pthread_setspecific(keys[i], MALLOC(64));
    if (__cxa_thread_atexit_impl) __cxa_thread_atexit_impl(tls_ends, MALLOC(128), &__dso_handle);
    return NULL;
}

static int thread_exit(int argc, char **argv) {
    for (int i = 0; i < 4; i++) pthread_key_create(&keys[i], key_ends);
    for (int i = 0; i < 50; i++) {
        pthread_t t;
        pthread_create(&t, NULL, with_keys, NULL);
        pthread_join(t, NULL);
    }
    puts("50 threads ended");
    return 0;
}

static void *twenty(void *arg) { some(20); return NULL; }

static int run_threads(int waves, int width, size_t stack) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (stack && pthread_attr_setstacksize(&attr, stack)) return 90;
    for (int w = 0; w < waves; w++) {
        pthread_t t[100];
        for (int i = 0; i < width; i++) if (pthread_create(&t[i], &attr, twenty, NULL)) return 91;
        for (int i = 0; i < width; i++) pthread_join(t[i], NULL);
    }
    puts("all threads joined");
    return 0;
}

// More threads at a time than a log once had chunks for.
#define CROWD 5000
static pthread_barrier_t all_here;
static void *in_crowd(void *arg) {
    some(3);
    pthread_barrier_wait(&all_here);
    some(3);
    return NULL;
}

static int crowd(int argc, char **argv) {
    static pthread_t t[CROWD];
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 32 << 10);
    pthread_barrier_init(&all_here, NULL, CROWD);
    for (int i = 0; i < CROWD; i++) if (pthread_create(&t[i], &attr, in_crowd, NULL)) return 91;
    for (int i = 0; i < CROWD; i++) pthread_join(t[i], NULL);
    puts("crowd is gone");
    return 0;
}

static int waves(int argc, char **argv) { return run_threads(10, 50, 0); }
static int small_stacks(int argc, char **argv) { return run_threads(2, 40, PTHREAD_STACK_MIN); }

static void *detached(void *arg) { some(200); return NULL; }
static int detached_at_exit(int argc, char **argv) {
    for (int i = 0; i < 20; i++) {
        pthread_t t;
        pthread_create(&t, NULL, detached, NULL);
        pthread_detach(t);
    }
    puts("leaving");
    return 5;
}

// Not on each level: a reader of all these stacks takes time by the square of the depth.
static int deep(int n) {
    char room[64];
    void *p = n % 64 ? NULL : MALLOC(n + 1);
    int below = n ? deep(n - 1) : 0;
    room[n % 64] = below;
    if (p) FREE(p);
    return below + (room[n % 64] == (char)below);
}

static int recursion(int argc, char **argv) { printf("depth %d\n", deep(3000)); return 0; }
static int recursion_too_deep(int argc, char **argv) { printf("depth %d\n", deep(6000)); return 0; }

// musl has no makecontext.
#ifdef __GLIBC__
#define FIBERS 8
static ucontext_t home, fibers[FIBERS];
static void fiber(int self) {
    for (int i = 0; i < 50; i++) {
        void *p = MALLOC(50 + self);
        swapcontext(&fibers[self], &home);
        FREE(p);
    }
}

static int run_fibers(int argc, char **argv) {
    for (int i = 0; i < FIBERS; i++) {
        getcontext(&fibers[i]);
        fibers[i].uc_stack.ss_sp = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        fibers[i].uc_stack.ss_size = 16384;
        fibers[i].uc_link = &home;
        makecontext(&fibers[i], (void (*)(void))fiber, 1, i);
    }
    for (int turn = 0; turn < 51; turn++)
        for (int i = 0; i < FIBERS; i++) swapcontext(&home, &fibers[i]);
    puts("fibers ended");
    return 0;
}
#else
static int run_fibers(int argc, char **argv) { return 97; }
#endif

static void at_end(void) { some(7); }
__attribute__((destructor)) static void destructor(void) { if (counts_table) some(11); }

static int after_exit(int argc, char **argv) {
    for (int i = 0; i < 40; i++) atexit(at_end);
    puts("exiting");
    return 9;
}

// dlsym of a missing name allocates the words of dlerror, inside the loader.
static int inside_dlsym(int argc, char **argv) {
    for (int i = 0; i < 100; i++) {
        if (dlsym(RTLD_DEFAULT, "no such symbol")) return 90;
        if (!dlerror()) return 91;
        if (!dlsym(RTLD_NEXT, "malloc")) return 92;
    }
    some(10);
    puts("looked up");
    return 0;
}

// The first thread ends, and the process goes on: /proc/self is that of the first thread.
static void *goes_on(void *main_thread) {
    pthread_t t;
    pthread_join(*(pthread_t *)main_thread, NULL);
    some(100);
    if (pthread_create(&t, NULL, twenty, NULL) || pthread_join(t, NULL)) _exit(90);
    puts("went on");
    exit(0);
}

static int main_ends(int argc, char **argv) {
    static pthread_t self;
    pthread_t t;
    self = pthread_self();
    if (pthread_create(&t, NULL, goes_on, &self)) return 91;
    pthread_exit(NULL);
}

// musl, older glibc: TLS of a library that came later is allocated at its first use.
static int aborts(int argc, char **argv) { puts("aborting"); fflush(stdout); some(1000); abort(); }
static int leaves_at_once(int argc, char **argv) { puts("leaving"); fflush(stdout); some(1000); _exit(42); }

static const struct test_case cases[] = {
    { "thread_exit", thread_exit }, { "waves", waves }, { "small_stacks", small_stacks },
    { "detached_at_exit", detached_at_exit }, { "recursion", recursion },
    { "recursion_too_deep", recursion_too_deep }, { "fibers", run_fibers }, { "after_exit", after_exit },
    { "inside_dlsym", inside_dlsym }, { "aborts", aborts }, { "leaves_at_once", leaves_at_once },
    { "main_ends", main_ends }, { "crowd", crowd }, { 0 },
};

int main(int argc, char **argv) { return run_case(cases, argc, argv); }
