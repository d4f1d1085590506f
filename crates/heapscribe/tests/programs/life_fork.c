// Processes that make others, in every way there is.
#include "counted.h"
#include <dlfcn.h>
#include <sched.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>

extern char **environ;
static _Atomic int stop;

static void some(int n) {
    for (int i = 0; i < n; i++) { void *p = MALLOC(10 + i % 900); p = REALLOC(p, 100 + i % 900); FREE(p); }
}

static int wait_for(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0) if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// In bursts: without pauses a storm is four million calls, which take the tests' reader half a minute.
static void *until_stop(void *arg) { while (!stop) { some(200); usleep(200); } return NULL; }

typedef pid_t (*forker)(void);
static pid_t by_clone(void) { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

// heaphook, heaptrack: the child hangs on a lock that another thread held.
static int forks(forker how, int n, int threads) {
    pthread_t t[4];
    int good = 0;
    for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, until_stop, NULL);
    for (int i = 0; i < n; i++) {
        pid_t pid = how();
        if (pid == 0) { some(10); _exit(i % 50); }
        good += wait_for(pid) == i % 50;
    }
    stop = 1;
    for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
    printf("%d of %d children\n", good, n);
    return 0;
}

static int storm(int argc, char **argv) { return forks(fork, 200, 3); }
static int raw_clone(int argc, char **argv) { return forks(by_clone, 100, 0); }
static int bare_fork(int argc, char **argv) {
    forker how = (forker)dlsym(RTLD_DEFAULT, "_Fork");
    return forks(how ? how : fork, 100, 0);
}

static int grandchildren(int argc, char **argv) {
    some(3);
    for (int depth = 0; depth < 5; depth++) {
        pid_t pid = fork();
        if (pid) { int code = wait_for(pid); if (depth == 0) printf("chain ended with %d\n", code); return code; }
        some(4);
    }
    return 17;
}

static int child(int argc, char **argv) { some(25); return 21; }

static int by_vfork(int argc, char **argv) {
    int good = 0;
    for (int i = 0; i < 20; i++) {
        some(2);
        pid_t pid = vfork();
        if (pid == 0) { execl("/proc/self/exe", argv[0], "child", (char *)NULL); _exit(99); }
        good += wait_for(pid) == 21;
    }
    printf("%d children\n", good);
    return 0;
}

// A vfork child that allocates before it execs, in its parent's memory.
static int vfork_allocates(int argc, char **argv) {
    int good = 0;
    for (int i = 0; i < 20; i++) {
        pid_t pid = vfork();
        if (pid == 0) { some(5); _exit(4); }
        good += wait_for(pid) == 4;
        if (i == 0) usleep(100000);
        some(5);
    }
    printf("%d children\n", good);
    return 0;
}

static int by_spawn(int argc, char **argv) {
    char *arguments[] = { argv[0], "child", NULL };
    int good = 0;
    for (int i = 0; i < 20; i++) {
        pid_t pid;
        if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ)) return 90;
        good += wait_for(pid) == 21;
    }
    printf("%d children\n", good);
    return 0;
}

// The program execs itself: one pid, an image after the other.
static int exec_chain(int argc, char **argv) {
    int left = argc > 2 ? atoi(argv[2]) : 4;
    char number[20];
    some(10);
    if (left == 0) { puts("last image"); return 13; }
    snprintf(number, sizeof number, "%d", left - 1);
    execl("/proc/self/exe", argv[0], "exec_chain", number, (char *)NULL);
    return 99;
}

static void exec_in_thread_body(char **argv) { execl("/proc/self/exe", argv[0], "child", (char *)NULL); }
static void *exec_now(void *argv) { exec_in_thread_body(argv); return NULL; }
static int exec_from_thread(int argc, char **argv) {
    pthread_t t, u;
    some(10);
    pthread_create(&u, NULL, until_stop, NULL);
    usleep(5000);
    pthread_create(&t, NULL, exec_now, argv);
    pthread_join(t, NULL);
    return 99;
}

// heaphook: log lines are written into the program's own file; heaptrack closes it.
static int opens_its_own(const char *path) {
    char text[200];
    close_range(3, ~0u, 0);
    int a = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), b = dup(a);
    int n = snprintf(text, sizeof text, "descriptors %d %d\n", a, b);
    some(2000);
    if (write(a, text, n) != n) return 90;
    some(2000);
    if (write(b, "its data\n", 9) != 9) return 91;
    return close(a) | close(b);
}

static int closes_all(int argc, char **argv) {
    int code = opens_its_own(getenv("OWN_FILE"));
    puts("done");
    return code;
}

static int daemon_style(int argc, char **argv) {
    some(10);
    if (fork()) _exit(0);
    setsid();
    if (fork()) _exit(0);
    umask(0);
    if (chdir("/")) _exit(92);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0); dup2(null, 1); dup2(null, 2);
    // By now the process that was started has long ended, and this one has allocated nothing yet.
    usleep(200000);
    int code = opens_its_own(getenv("OWN_FILE"));
    counts_table[0].realloc = 1;
    _exit(code);
}

// libc's own, whose parent ends by a call inside of libc.
static int libc_daemon(int argc, char **argv) {
    some(10);
    if (daemon(1, 1)) return 91;
    some(10);
    return 0;
}

// A daemon that writes over its environment, as those do that show a title (postgres, sshd), and whose parent ends
// at once. It calls nothing until the test opens the pipe.
static int titled_daemon(int argc, char **argv) {
    char gate[4096], byte;
    snprintf(gate, sizeof gate, "%s", getenv("GATE"));
    some(10);
    for (char **variable = environ; *variable; variable++) memset(*variable, 0, strlen(*variable));
    if (fork()) _exit(0);
    int fd = open(gate, O_RDONLY);
    if (read(fd, &byte, 1) != 1) _exit(93);
    some(2000);
    counts_table[0].realloc = 1;
    _exit(0);
}

// Children that allocate and then become the programs that are named, in every way there is; and one that can not.
static int execs(int argc, char **argv) {
    char *arguments[] = { "zero", "one", "two", "three", "four", "five", "six", NULL };
    char *environment[] = { "WAY=given", NULL };
    some(5);
    for (int program = 2; program < argc; program++) {
        for (int way = 0; way < 8; way++) {
            const char *path = argv[program];
            pid_t pid = fork();
            if (pid == 0) {
                some(5);
                setenv("WAY", "kept", 1);
                switch (way) {
                case 0: execl(path, "zero", "one", "two", "three", "four", "five", "six", (char *)NULL); break;
                case 1: execlp(path, "zero", "one", (char *)NULL); break;
                case 2: execle(path, "zero", "one", "two", "three", "four", "five", (char *)NULL, environment); break;
                case 3: execv(path, arguments); break;
                case 4: execve(path, arguments, environment); break;
                case 5: execvp(path, arguments); break;
                case 6: execvpe(path, arguments, environment); break;
                case 7: fexecve(open(path, O_RDONLY), arguments, environment); break;
                }
                _exit(99);
            }
            int code = wait_for(pid);
            char line[40];
            if (write(1, line, snprintf(line, sizeof line, "way %d: %d\n", way, code)) < 0) return 94;
        }
    }
    return 0;
}

// Programs that nobody told that they are recorded: spawned, and by children that have called nothing.
static int escapes(int argc, char **argv) {
    char *arguments[] = { "zero", NULL }, *environment[] = { "WAY=given", NULL };
    pid_t pid;
    some(5);
    if (posix_spawn(&pid, argv[2], NULL, NULL, arguments, environment) || wait_for(pid)) return 90;
    if ((pid = fork()) == 0) { execve(argv[2], arguments, environment); _exit(99); }
    if (wait_for(pid)) return 91;
    if ((pid = vfork()) == 0) { execve(argv[2], arguments, environment); _exit(99); }
    if (wait_for(pid)) return 92;
    if ((pid = fork()) == 0) { execve("/nowhere", arguments, environment); _exit(7); }
    if (wait_for(pid) != 7) return 93;
    if (posix_spawn(&pid, "/nowhere", NULL, NULL, arguments, environment) != ENOENT) return 94;
    if (posix_spawn(&pid, argv[2], NULL, NULL, arguments, environ) || wait_for(pid)) return 95;
    return 0;
}

static int aborts_after_failed_exec(int argc, char **argv) {
    some(5);
    pid_t pid = fork();
    if (pid == 0) {
        some(5);
        if (execl("/nowhere", "zero", (char *)NULL) != -1 || errno != ENOENT) _exit(95);
        raise(SIGKILL);
    }
    return wait_for(pid) == 128 + SIGKILL ? 0 : 96;
}

// All of them, also 0, 1 and 2.
static int closes_even_standard(int argc, char **argv) {
    puts("closing"); fflush(stdout);
    some(10);
    close_range(0, ~0u, 0);
    some(1000);
    int fd = open(getenv("OWN_FILE"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd != 0) _exit(90);
    some(1000);
    if (write(fd, "descriptor 0\n", 13) != 13) _exit(91);
    if (fork() == 0) { some(100); _exit(0); }
    wait(NULL);
    _exit(6);
}

static const struct test_case cases[] = {
    { "storm", storm }, { "raw_clone", raw_clone }, { "bare_fork", bare_fork }, { "grandchildren", grandchildren },
    { "child", child }, { "by_vfork", by_vfork }, { "vfork_allocates", vfork_allocates }, { "by_spawn", by_spawn },
    { "exec_chain", exec_chain }, { "exec_from_thread", exec_from_thread }, { "closes_all", closes_all },
    { "daemon_style", daemon_style }, { "libc_daemon", libc_daemon }, { "titled_daemon", titled_daemon }, { "execs", execs }, { "escapes", escapes },
    { "aborts_after_failed_exec", aborts_after_failed_exec }, { "closes_even_standard", closes_even_standard }, { 0 },
};

int main(int argc, char **argv) { return run_case(cases, argc, argv); }
