/* Signals: handlers, masks, alternate stacks, jumps out, deaths. */
#include "parts.h"
#include <sys/signalfd.h>
#include <sys/time.h>

static volatile sig_atomic_t seen;
static void counts(int signal) { seen++; }
static void allocates(int signal) { seen += (int)(work(20) % 3) + 1; }

static void on(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    if (sigaction(signal, &action, NULL) != 0) perror("sigaction");
}

static void handler_allocates(int argc, char **argv) {
    on(SIGUSR1, allocates, 0);
    for (int i = 0; i < 200; i++) raise(SIGUSR1);
    said("seen", seen);
}

static void every_millisecond(int argc, char **argv) {
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    on(SIGALRM, counts, SA_RESTART);
    setitimer(ITIMER_REAL, &timer, NULL);
    unsigned long sum = 0;
    while (seen < 100) sum = work(3000);
    timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    said("sum", (long)sum);
}

static void alternate_stack(int argc, char **argv) {
    size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + (argc > 2 ? (size_t)atol(argv[2]) : 16384);
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    if (sigaltstack(&stack, NULL) != 0) perror("sigaltstack");
    on(SIGUSR1, allocates, SA_ONSTACK);
    for (int i = 0; i < 50; i++) raise(SIGUSR1);
    said("seen", seen);
}

static sigjmp_buf back;
static void jumps(int signal) { siglongjmp(back, 1); }
static void jump_out(int argc, char **argv) {
    static volatile int jumped;
    on(SIGSEGV, jumps, SA_NODEFER);
    for (volatile int i = 0; i < 300; i++) {
        if (sigsetjmp(back, 1) == 0) {
            free(malloc(77));
            *(volatile int *)8 = 1;
        }
        jumped++;
        work(5);
    }
    said("jumped", jumped);
}

static void segment_fault(int argc, char **argv) { *(volatile int *)8 = 1; }
static void aborts(int argc, char **argv) { abort(); }

/* What it was given: its mask, what is ignored. */
static void inherited(int argc, char **argv) {
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int signal = 1; signal <= 64; signal++) {
        struct sigaction action;
        if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_DFL) said("ignored", signal);
        if (sigismember(&mask, signal) == 1) said("blocked", signal);
    }
}

static void broken_pipe(int argc, char **argv) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    close(ends[0]);
    work(100);
    if (write(ends[1], "x", 1) < 0) said("errno", errno);
}

static void all_blocked(int argc, char **argv) {
    static sigset_t all, after;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, NULL, &all);
    raise(SIGTERM);
    said("work", (long)work(3000));
    sigemptyset(&after);
    sigprocmask(SIG_SETMASK, NULL, &after);
    said("mask is the same", memcmp(&all, &after, sizeof all) == 0);
    sigpending(&after);
    said("pending", sigismember(&after, SIGTERM));
}

static void by_descriptor(int argc, char **argv) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    int file = signalfd(-1, &mask, SFD_CLOEXEC);
    for (int i = 0; i < 20; i++) {
        struct signalfd_siginfo info;
        raise(SIGUSR2);
        work(20);
        if (read(file, &info, sizeof info) == sizeof info) seen++;
    }
    said("read", seen);
}

static void interrupted(int argc, char **argv) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) abort();
    struct itimerval timer = {{0, 0}, {0, 20000}};
    on(SIGALRM, counts, 0);
    setitimer(ITIMER_REAL, &timer, NULL);
    work(100);
    said("read", read(ends[0], &byte, 1));
    said("interrupted", errno == EINTR);
}

static void queued_handler(int signal, siginfo_t *info, void *context) { seen += info->si_value.sival_int; }
static void queued(int argc, char **argv) {
    struct sigaction action = {.sa_sigaction = queued_handler, .sa_flags = SA_SIGINFO};
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGRTMIN + 3);
    sigaction(SIGRTMIN + 3, &action, NULL);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    for (int i = 0; i < 50; i++) sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = i});
    work(200);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    said("sum", seen);
}

static const struct part parts[] = {
    {"handler_allocates", handler_allocates}, {"every_millisecond", every_millisecond},
    {"alternate_stack", alternate_stack}, {"jump_out", jump_out}, {"segment_fault", segment_fault},
    {"aborts", aborts}, {"inherited", inherited}, {"broken_pipe", broken_pipe}, {"all_blocked", all_blocked},
    {"by_descriptor", by_descriptor}, {"interrupted", interrupted}, {"queued", queued},
};
MAIN(parts)
