// Signals that come while the heap is used, at a high rate, and what handlers do then.
#include "counted.h"
#include <setjmp.h>
#include <sys/syscall.h>
#include <sys/time.h>

static _Atomic int busy, stop_jumps;
static _Atomic unsigned long hits, jumps, forks;
static sigjmp_buf back;

static void every_us(long us) {
    struct itimerval t = { { 0, us }, { 0, us } };
    setitimer(ITIMER_REAL, &t, NULL);
}

static void on(int signal, void (*handler)(int), int flags) {
    struct sigaction a = { .sa_handler = handler, .sa_flags = flags };
    sigaction(signal, &a, NULL);
}

static void churn(int rounds) {
    void *kept[16] = { 0 };
    for (int i = 0; i < rounds; i++) {
        busy++;
        FREE(kept[i % 16]);
        kept[i % 16] = MALLOC(16 + i % 500);
        busy--;
    }
    for (int i = 0; i < 16; i++) { busy++; FREE(kept[i]); busy--; }
}

static void allocate_in_handler(int s) {
    int error = errno;
    hits++;
    void *p = MALLOC(24), *q = CALLOC(3, 30);
    p = REALLOC(p, 300);
    FREE(p); FREE(q);
    errno = error;
}

static void allocate_if_idle(int s) { if (!busy) allocate_in_handler(s); }

static int finish(const char *what, unsigned long n) {
    every_us(0);
    printf("%s %s\n", what, n > 20 ? "often" : "seldom");
    return 7;
}

// The program keeps its handler out of malloc, as a careful program does.
static int guarded(int argc, char **argv) {
    on(SIGALRM, allocate_if_idle, SA_RESTART);
    every_us(100);
    while (hits < 100) {
        churn(10);
        for (volatile int idle = 0; idle < 3000; idle++) {} // for the handler to come outside of malloc
    }
    return finish("handler", hits);
}

// The handler allocates whenever it comes, also inside the recorder: with a heap that can take it.
static int unguarded(int argc, char **argv) {
    on(SIGALRM, allocate_in_handler, SA_RESTART);
    every_us(50);
    while (hits < 5000) churn(300);
    return finish("handler", hits);
}

static void jump(int s) {
    if (stop_jumps) return;
    jumps++;
    siglongjmp(back, 1);
}

static int jumping(int flags) {
    on(SIGALRM, jump, flags);
    // The place first: a signal within 200 us of a busy machine jumped to nowhere.
    if (!sigsetjmp(back, 1)) every_us(200);
    while (jumps < 1000) churn(50);
    stop_jumps = 1;
    every_us(0);
    // What comes now has nothing to do with the jumps and has to be there whole.
    for (int i = 0; i < 12345; i++) { void *p = CALLOC(1, 8); FREE(p); }
    printf("jumped often\n");
    return 3;
}

static int jump_out(int argc, char **argv) { return jumping(SA_NODEFER); }

static int jump_from_altstack(int argc, char **argv) {
    static char stack[1 << 16];
    stack_t s = { .ss_sp = stack, .ss_size = sizeof stack };
    sigaltstack(&s, NULL);
    return jumping(SA_NODEFER | SA_ONSTACK);
}

// httrack #985: a handler that forks; the child goes on with allocating.
static void fork_in_handler(int s) {
    if (forks >= 100) return;
    int error = errno, status = 0;
    pid_t pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (forks % 2) { if (pid == 0) syscall(SYS_exit_group, 0); }
    if (pid == 0) {
        for (int i = 0; i < 10; i++) { void *p = MALLOC(100); FREE(p); }
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (status) _exit(55);
    forks++;
    errno = error;
}

// fork() itself, whose handlers of glibc take its malloc's locks: only while nothing else is under way.
static void real_fork_in_handler(int s) {
    if (forks >= 100) return;
    int error = errno, status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 10; i++) { void *p = MALLOC(100); FREE(p); }
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (status) _exit(55);
    forks++;
    errno = error;
}

static int forking(void (*handler)(int)) {
    on(SIGALRM, handler, SA_RESTART);
    every_us(2000);
    while (forks < 100) churn(300);
    return finish("forks", forks);
}

static int fork_raw(int argc, char **argv) { return forking(fork_in_handler); }
static int fork_libc(int argc, char **argv) { return forking(real_fork_in_handler); }

// The child returns from the handler into whatever was interrupted, and ends the program normally.
static _Atomic int left_to_child;
static void child_returns(int s) {
    int error = errno, status = 0;
    if (left_to_child || forks >= 60) return;
    pid_t pid = fork();
    if (pid == 0) { left_to_child = 1; every_us(0); errno = error; return; }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (status) _exit(56);
    forks++;
    errno = error;
}

static int fork_returns(int argc, char **argv) {
    on(SIGALRM, child_returns, SA_RESTART);
    every_us(2000);
    while (forks < 60 && !left_to_child) churn(300);
    if (left_to_child) { churn(1000); _exit(0); }
    return finish("forks", forks);
}

// A handler on the smallest alternate stack that the C library calls big enough, and a page for itself.
static int small_altstack(int argc, char **argv) {
    size_t size = sysconf(_SC_MINSIGSTKSZ) + 4096;
    char *range = mmap(NULL, 4096 + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(range, 4096, PROT_NONE);
    stack_t s = { .ss_sp = range + 4096, .ss_size = size };
    sigaltstack(&s, NULL);
    on(SIGUSR1, allocate_in_handler, SA_ONSTACK);
    for (int i = 0; i < 100; i++) raise(SIGUSR1);
    return finish("handler", hits);
}

static const struct test_case cases[] = {
    { "guarded", guarded }, { "unguarded", unguarded }, { "jump_out", jump_out },
    { "jump_from_altstack", jump_from_altstack }, { "fork_raw", fork_raw }, { "fork_libc", fork_libc },
    { "fork_returns", fork_returns }, { "small_altstack", small_altstack },
    { 0 },
};

int main(int argc, char **argv) { return run_case(cases, argc, argv); }
