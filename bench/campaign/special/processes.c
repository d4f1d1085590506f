/* How processes begin and end: forks, vforks, execs, namespaces, other users, deaths. */
#include "parts.h"
#include <grp.h>
#include <spawn.h>
#include <sys/ptrace.h>

extern char **environ;

static void fork_storm(int argc, char **argv) {
    long sum = 0;
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0) _exit((int)(work(50 + (unsigned)i) % 97));
        sum += ended(child);
    }
    said("sum of codes", sum);
}

static void fork_deep(int argc, char **argv) {
    int depth = 0;
    for (; depth < 25; depth++) {
        pid_t child = fork();
        if (child != 0) exit(ended(child) + 1);
        work(50);
    }
    exit(0);
}

static void *forks(void *count) {
    long sum = 0;
    for (long i = 0; i < (long)count; i++) {
        pid_t child = fork();
        if (child == 0) _exit((int)(work(60) % 7));
        sum += ended(child);
    }
    return (void *)sum;
}

static void fork_in_threads(int argc, char **argv) {
    pthread_t threads[6];
    unsigned long sum = 0;
    for (int i = 0; i < 6; i++) threads[i] = begin_thread(forks, (void *)5, 0);
    for (int i = 0; i < 6; i++) sum += end_thread(threads[i]);
    said("sum of codes", (long)sum);
}

static volatile int stop;
static void *allocates(void *unused) {
    while (!stop) work(40);
    return unused;
}

static void fork_while_allocating(int argc, char **argv) {
    pthread_t threads[4];
    long sum = 0;
    for (int i = 0; i < 4; i++) threads[i] = begin_thread(allocates, NULL, 0);
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (child == 0) _exit((int)(work(200) % 7));
        sum += ended(child);
    }
    stop = 1;
    for (int i = 0; i < 4; i++) end_thread(threads[i]);
    said("sum of codes", sum);
}

static void vfork_exec(int argc, char **argv) {
    long sum = 0;
    char *arguments[] = {"false", NULL};
    for (int i = 0; i < 40; i++) {
        pid_t child = vfork();
        if (child == 0) {
            execv("/bin/false", arguments);
            _exit(127);
        }
        sum += ended(child);
    }
    said("sum of codes", sum);
}

static void spawn(int argc, char **argv) {
    char *arguments[] = {"sh", "-c", "echo spawned", NULL};
    for (int i = 0; i < 10; i++) {
        pid_t child;
        if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0) said("code", ended(child));
    }
}

static void exec_again(int argc, char **argv) {
    int left = argc > 2 ? atoi(argv[2]) : 20;
    char number[12];
    if (left == 0) return;
    snprintf(number, sizeof number, "%d", left - 1);
    execl("/proc/self/exe", argv[0], argv[1], number, NULL);
    perror("exec");
}

static void *execs(void *name) {
    execl("/proc/self/exe", name, "exec_again", "3", NULL);
    return name;
}

static void exec_from_thread(int argc, char **argv) {
    for (int i = 0; i < 3; i++) begin_thread(allocates, NULL, 0);
    end_thread(begin_thread(execs, argv[0], 0));
}

static void exec_fails(int argc, char **argv) {
    for (int i = 0; i < 3; i++) {
        pid_t child = vfork();
        if (child == 0) {
            execl("/nonexistent", "x", NULL);
            _exit(errno);
        }
        said("errno in the child", ended(child));
    }
    execl("/etc/passwd", "x", NULL);
    said("errno here", errno);
    said("work", (long)work(100));
}

static void exec_without_environment(int argc, char **argv) {
    char *arguments[] = {argv[0], "exec_again", "2", NULL}, *none[] = {NULL};
    pid_t child = fork();
    if (child == 0) execve("/proc/self/exe", arguments, none);
    said("code", ended(child));
}

/* A fork that no handler of pthread_atfork sees. */
static void raw_clone(int argc, char **argv) {
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        said("work of the child", (long)work(500));
        _exit(4);
    }
    said("code", ended((pid_t)child));
}

static int shares_memory(void *argument) {
    *(long *)argument = (long)work(100);
    _exit(5);
}

static void clone_with_memory(int argc, char **argv) {
    char *stack = malloc(1 << 18);
    long sum = 0;
    pid_t child = clone(shares_memory, stack + (1 << 18), CLONE_VM | CLONE_VFORK | SIGCHLD, &sum);
    said("code", ended(child));
    said("sum", sum);
    free(stack);
}

static void becomes_daemon(int argc, char **argv) {
    if (daemon(1, 1) != 0) perror("daemon");
    said("work of the daemon", (long)work(2000));
}

static void orphan(int argc, char **argv) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    if (fork() == 0) {
        char byte;
        close(ends[1]);
        if (read(ends[0], &byte, 1) != 0) abort(); /* until the parent is gone */
        said("work of the orphan", (long)work(1000));
        _exit(0);
    }
}

static void subreaper(int argc, char **argv) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) _exit((int)(work(100) % 50));
        _exit(1);
    }
    said("child", ended(child));
    said("grandchild", ended(-1));
}

static void deaths(int argc, char **argv) {
    const int signals[] = {SIGABRT, SIGSEGV, SIGKILL, SIGTERM, SIGFPE, SIGRTMIN};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            work(100);
            raise(signals[i]);
        }
        said("ended", ended(child));
    }
}

static void kills_itself(int argc, char **argv) { kill(getpid(), SIGKILL); }

static void says_bye(void) { said("bye", (long)work(100)); }
static void *exits(void *unused) { exit(3); }
static void exit_in_thread(int argc, char **argv) {
    atexit(says_bye);
    end_thread(begin_thread(exits, NULL, 0));
}
static void *exits_at_once(void *unused) { _exit(6); }
static void exit_at_once_in_thread(int argc, char **argv) {
    atexit(says_bye);
    end_thread(begin_thread(exits_at_once, NULL, 0));
}

static void *begun_late(void *main_thread) {
    pthread_join(*(pthread_t *)main_thread, NULL);
    said("main has ended", (long)end_thread(begin_thread(in_thread, (void *)500, 0)));
    exit(0);
}
static void main_ends_first(int argc, char **argv) {
    static pthread_t self;
    self = pthread_self();
    begin_thread(begun_late, &self, 0);
    pthread_exit(NULL);
}

static void children_ignored(int argc, char **argv) {
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) _exit((int)work(50) & 1);
        said("wait", ended(child));
    }
}

static void traces(int argc, char **argv) {
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        work(100);
        _exit(9);
    }
    int status, stops = 0;
    waitpid(child, &status, 0);
    for (int i = 0; i < 500 && WIFSTOPPED(status); i++, stops++) {
        ptrace(PTRACE_SINGLESTEP, child, 0, 0);
        waitpid(child, &status, 0);
    }
    said("stops", stops);
    ptrace(PTRACE_DETACH, child, 0, 0);
    said("code", ended(child));
}

static void pid_namespace(int argc, char **argv) {
    if (unshare(CLONE_NEWPID) != 0) perror("unshare");
    pid_t child = fork();
    if (child == 0) {
        said("pid", getpid());
        if (fork() == 0) _exit((int)(work(100) % 50));
        said("child of 1", ended(-1));
        _exit((int)(work(300) % 50));
    }
    said("code", ended(child));
}

static void other_root(int argc, char **argv) {
    mkdir("root", 0755);
    if (chroot("root") != 0 || chdir("/") != 0) perror("chroot");
    said("work", (long)work(3000));
    pid_t child = fork();
    if (child == 0) _exit((int)(work(100) % 50));
    said("code", ended(child));
}

static void other_user(int argc, char **argv) {
    if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0) perror("setuid");
    said("uid", getuid());
    said("work", (long)work(3000));
    pid_t child = fork();
    if (child == 0) _exit((int)(work(100) % 50));
    said("code", ended(child));
    said("thread", (long)end_thread(begin_thread(in_thread, (void *)500, 0)));
}

static const struct part parts[] = {
    {"fork_storm", fork_storm}, {"fork_deep", fork_deep}, {"fork_in_threads", fork_in_threads},
    {"fork_while_allocating", fork_while_allocating}, {"vfork_exec", vfork_exec}, {"spawn", spawn},
    {"exec_again", exec_again}, {"exec_from_thread", exec_from_thread}, {"exec_fails", exec_fails},
    {"exec_without_environment", exec_without_environment}, {"raw_clone", raw_clone},
    {"clone_with_memory", clone_with_memory}, {"becomes_daemon", becomes_daemon}, {"orphan", orphan},
    {"subreaper", subreaper}, {"deaths", deaths}, {"kills_itself", kills_itself},
    {"exit_in_thread", exit_in_thread}, {"exit_at_once_in_thread", exit_at_once_in_thread},
    {"main_ends_first", main_ends_first}, {"children_ignored", children_ignored}, {"traces", traces},
    {"pid_namespace", pid_namespace}, {"other_root", other_root}, {"other_user", other_user},
};
MAIN(parts)
