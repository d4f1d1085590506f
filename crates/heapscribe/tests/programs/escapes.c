// Programs that are not recorded, each for a reason of its own: escapes [HOW [PROGRAM]]. Without HOW it is one that
// leaks, and says so.
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *nothing[] = { NULL };
static void *volatile kept;

static void leak(int size) { kept = malloc(size); }
static void wait_for_all(void) { while (wait(NULL) > 0 || errno == EINTR) {} }

static void few_descriptors(void) {
    struct rlimit limit = { 3, 3 };
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void start(const char *program, char **environment) {
    char *arguments[] = { (char *)program, NULL };
    if (fork() == 0) { execve(program, arguments, environment); _exit(127); }
    wait_for_all();
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "", *program = argc > 2 ? argv[2] : argv[0];
    if (!*how) {
        leak(100);
        puts("leaks");
    } else if (!strcmp(how, "few")) {
        few_descriptors();
        leak(100);
    } else if (!strcmp(how, "few_child")) {
        leak(10);
        few_descriptors();
        if (fork() == 0) { leak(7); _exit(0); }
        wait_for_all();
    } else if (!strcmp(how, "removed")) {
        char to[4096], *from = getenv("HEAPSCRIBE_SESSION");
        leak(10);
        if (!from) return 0;
        snprintf(to, sizeof to, "%s.removed", from);
        usleep(300000); // on a busy machine record had not found the session of this process yet
        if (rename(from, to)) return 90;
        if (fork() == 0) { leak(7); _exit(0); }
        wait_for_all();
        start(program, environ);
    } else if (!strcmp(how, "quiet")) {
        start(program, nothing); // before any call of the heap
    } else if (!strcmp(how, "spawns")) {
        char *arguments[] = { (char *)program, NULL };
        pid_t pid;
        leak(10);
        if (posix_spawnp(&pid, program, NULL, NULL, arguments, nothing)) return 91;
        wait_for_all();
    } else if (!strcmp(how, "fails")) {
        leak(10);
        execve("/nowhere/at all", nothing, nothing);
        char *arguments[] = { "escapes", NULL };
        execvp(program, arguments);
    } else if (!strcmp(how, "many")) {
        leak(10);
        for (int i = 0; i < 20; i++) start(program, nothing);
    } else if (!strcmp(how, "forks")) {
        for (int i = 0; i < 3; i++) if (fork() == 0) { leak(1000); _exit(0); }
        wait_for_all();
    }
    return 0;
}
