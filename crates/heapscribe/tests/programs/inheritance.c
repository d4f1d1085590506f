// What a program inherits. `set CASE COMMAND...` runs a command that inherits something unusual, in which the word
// GROUPS is replaced by process groups and sessions; `show FILE GROUPS` writes what it inherited to a file.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct action { void *handler; unsigned long flags; void *restorer; unsigned long mask; };

// libc's functions refuse signals 32 and 33.
static struct action action(int signal, struct action *new) {
    struct action old = {0};
    syscall(SYS_rt_sigaction, signal, new, &old, 8);
    return old;
}

static void dispose(int signal, void *handler) {
    struct action new = {.handler = handler};
    action(signal, &new);
}

static unsigned long mask(int how, unsigned long set) {
    unsigned long old = 0;
    syscall(SYS_rt_sigprocmask, how, &set, &old, 8);
    return old;
}

static void ignore_all(void) {
    for (int s = 1; s <= 64; s++)
        if (s != SIGKILL && s != SIGSTOP) dispose(s, SIG_IGN);
}
static void ignore_pipe(void) { dispose(SIGPIPE, SIG_IGN); }
static void ignore_child(void) { dispose(SIGCHLD, SIG_IGN); }
static void ignore_glibcs(void) { dispose(32, SIG_IGN), dispose(33, SIG_IGN); }
static void block_all(void) { mask(SIG_SETMASK, ~0ul); }
static void block_term(void) { mask(SIG_BLOCK, 1ul << (SIGTERM - 1)); }
static void close_input(void) { close(0); }
static void close_output(void) { close(1); }
static void close_error(void) { close(2); }
static void close_all(void) { close(0), close(1), close(2); }
static void open_nine(void) { dup2(1, 9); }
static void limit(void) {
    struct rlimit files = {50, 60}, stack = {1 << 20, 1 << 21}, core = {0, 0};
    setrlimit(RLIMIT_NOFILE, &files), setrlimit(RLIMIT_STACK, &stack), setrlimit(RLIMIT_CORE, &core);
}
static void masked(void) { umask(077); }
// Tests under `nice -n 19` are at the end of the scale.
static void niced(void) { nice(getpriority(PRIO_PROCESS, 0) < 19 ? 5 : -5); }
static void elsewhere(void) { chdir("/"); }
static void own_group(void) { setpgid(0, 0); }
static void own_session(void) { setsid(); }
static void timers(void) {
    struct itimerval later = {.it_value = {1000, 0}, .it_interval = {7, 0}};
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) setitimer(which, &later, NULL);
}
static void parents_death(void) { prctl(PR_SET_PDEATHSIG, SIGUSR1); }
static void batch(void) {
    struct sched_param none = {0};
    sched_setscheduler(0, SCHED_BATCH, &none);
}
static void odd_environment(void) {
    static char path[4096];
    snprintf(path, sizeof path, "PATH=%s", getenv("PATH"));
    static char *odd[] = {"Z=1", "A=2", "no assignment", "=", "A=3", path, "", "HOME=/", "B=", NULL};
    environ = odd;
}
static void terminal(void) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master)) exit(90);
    setsid();
    int tty = open(ptsname(master), O_RDWR);
    if (tty < 0 || ioctl(tty, TIOCSCTTY, 0)) exit(91);
    dup2(tty, 0), dup2(tty, 1), dup2(tty, 2);
    if (tty > 2) close(tty);
    dup2(master, 60), close(master); // open as long as the program lives
}
static void nothing(void) {}

static const struct { const char *name; void (*set)(void); } cases[] = {
    {"nothing", nothing}, {"ignore_all", ignore_all}, {"ignore_pipe", ignore_pipe}, {"ignore_child", ignore_child},
    {"ignore_glibcs", ignore_glibcs}, {"block_all", block_all}, {"block_term", block_term},
    {"close_input", close_input}, {"close_output", close_output}, {"close_error", close_error},
    {"close_all", close_all}, {"open_nine", open_nine}, {"limit", limit}, {"masked", masked}, {"niced", niced},
    {"elsewhere", elsewhere}, {"own_group", own_group}, {"own_session", own_session}, {"timers", timers},
    {"parents_death", parents_death}, {"batch", batch}, {"odd_environment", odd_environment}, {"terminal", terminal},
};

static int set(const char *name, char **command) {
    int group = getpgrp(), session = getsid(0), status;
    pid_t child = fork();
    if (child == 0) {
        for (int s = 1; s <= 64; s++)
            if (s != SIGKILL && s != SIGSTOP) dispose(s, SIG_DFL);
        mask(SIG_SETMASK, 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (!strcmp(cases[i].name, name)) cases[i].set();
        static char groups[100];
        snprintf(groups, sizeof groups, "%d %d %d %d", getpgrp(), getsid(0), group, session);
        for (char **word = command; *word; word++)
            if (!strcmp(*word, "GROUPS")) *word = groups;
        execvp(command[0], command);
        _exit(92);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int show(const char *path, const char *groups) {
    int own, session, starters, starters_session, tty;
    char directory[4096];
    struct itimerval timer;
    // First, while nothing of ours is open.
    int open_files = 0, flags[64], status[64], kind[64];
    for (int fd = 0; fd < 64; fd++) {
        struct stat of;
        flags[fd] = fcntl(fd, F_GETFD), status[fd] = fcntl(fd, F_GETFL);
        kind[fd] = fstat(fd, &of) ? 0 : of.st_mode & S_IFMT;
        open_files += flags[fd] >= 0;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FILE *out = fdopen(file, "w");
    for (int s = 1; s <= 64; s++) fprintf(out, "signal %d %p\n", s, action(s, NULL).handler);
    fprintf(out, "mask %lx\n", mask(SIG_BLOCK, 0));
    for (int fd = 0; fd < 64; fd++)
        if (flags[fd] >= 0) fprintf(out, "descriptor %d: %d %x %o\n", fd, flags[fd], status[fd], kind[fd]);
    fprintf(out, "%d open files\n", open_files);
    for (int which = 0; which < 16; which++) {
        struct rlimit limit = {0};
        getrlimit(which, &limit);
        fprintf(out, "limit %d %lx %lx\n", which, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, "LD_PRELOAD=", 11) && strncmp(*entry, "HEAPSCRIBE_", 11))
            fprintf(out, "environment %s\n", *entry);
    sscanf(groups, "%d %d %d %d", &own, &session, &starters, &starters_session);
    fprintf(out, "group %d %d\n", getpgrp() == own, getpgrp() == starters);
    fprintf(out, "session %d %d\n", getsid(0) == session, getsid(0) == starters_session);
    tty = open("/dev/tty", O_RDWR);
    fprintf(out, "terminal %d, in foreground %d\n", tty >= 0, tty >= 0 && tcgetpgrp(tty) == getpgrp());
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        getitimer(which, &timer);
        fprintf(out, "timer %d %d %d\n", which, timer.it_value.tv_sec > 0, (int)timer.it_interval.tv_sec);
    }
    int signal = -1;
    prctl(PR_GET_PDEATHSIG, &signal);
    fprintf(out, "parent's death %d, nice %d, policy %d\n", signal, getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
    fprintf(out, "umask %o, directory %s\n", umask(0), getcwd(directory, sizeof directory));
    return fclose(out) ? 93 : 0;
}

int main(int argc, char **argv) {
    if (argc > 3 && !strcmp(argv[1], "set")) return set(argv[2], argv + 3);
    if (argc == 4 && !strcmp(argv[1], "show")) return show(argv[2], argv[3]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) puts(cases[i].name);
    return 0;
}
