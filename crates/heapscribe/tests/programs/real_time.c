/* What a program with a control loop does: sets up, says so, and then should not call the heap. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heapscribe.h"

__attribute__((noinline)) void *slow_step(size_t size) { return malloc(size); }
__attribute__((noinline)) void give_back(void *block) { free(block); }

static void say(const char *text) { write(1, text, strlen(text)); }

static void on_usr1(int signal) { free(malloc(10)); }
static void on_abort(int signal) { say("handler\n"); }
static jmp_buf back;
static void jumps(int signal) { siglongjmp(back, 1); }

/* All kinds of calls, each of which has to leave errno as it is. */
static int kinds(void) {
    void *aligned;
    errno = 77;
    void *block = calloc(3, 40);
    block = realloc(block, 5000);
    posix_memalign(&aligned, 64, 300);
    free(slow_step(100));
    free(aligned);
    free(block);
    return errno == 77 ? 0 : 1;
}

/* With slow_heap.so behind: one malloc and one free that take 5 ms, and a free in which a handler calls the heap. */
static int slow(void) {
    void *slow_to_go = malloc(2424), *interrupted = malloc(2425);
    signal(SIGUSR1, on_usr1);
    free(slow_step(4242));
    give_back(slow_to_go);
    free(interrupted);
    return 0;
}

/* A handler that leaves a call by siglongjmp: what comes after it is told as ever. */
static int jump(void) {
    void *left = malloc(2425);
    signal(SIGUSR1, jumps);
    if (sigsetjmp(back, 1) == 0) free(left);
    return kinds();
}

static int loop(const char *what) {
    void *block = malloc(55);
    heapscribe_mark("initialized");
    heapscribe_section_begin("loop");
    if (!strcmp(what, "free")) give_back(block);
    else slow_step(777);
    say("after\n");
    heapscribe_section_end("loop");
    return 0;
}

static void *named(void *name) {
    pthread_setname_np(pthread_self(), name);
    heapscribe_section_begin("loop");
    give_back(slow_step(strlen(name)));
    heapscribe_section_end("loop");
    return NULL;
}

static int threads(void) {
    pthread_t thread;
    for (const char *const *name = (const char *const[]){"ordinary", "rt_control", NULL}; *name; name++) {
        pthread_create(&thread, NULL, named, (void *)*name);
        pthread_join(thread, NULL);
        say(*name);
        say("\n");
    }
    return 0;
}

/* Waits for a mark from outside, at most 60 s. */
static int outside(void) {
    say("ready\n");
    for (int i = 0; i < 6000; i++) {
        free(slow_step(33));
        usleep(10000);
    }
    return 1;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "kinds")) return kinds();
    if (!strcmp(what, "slow")) return slow();
    if (!strcmp(what, "jump")) return jump();
    if (!strcmp(what, "threads")) return threads();
    if (!strcmp(what, "outside")) return outside();
    if (!strcmp(what, "handled")) signal(SIGABRT, on_abort);
    if (!strcmp(what, "ignored")) signal(SIGABRT, SIG_IGN);
    if (!strcmp(what, "child")) {
        int status = 0;
        give_back(slow_step(3));
        if (fork() == 0) _exit(loop("malloc"));
        wait(&status);
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    return loop(what);
}
