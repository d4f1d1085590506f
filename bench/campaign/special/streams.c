/* What a program is started with: descriptors, environment, arguments, limits. */
#include "parts.h"
#include <dirent.h>

extern char **environ;

static void kind(int file) {
    struct stat status;
    if (fstat(file, &status) != 0) {
        dprintf(file == 2 ? 1 : 2, "%d is closed\n", file);
        return;
    }
    dprintf(file == 2 ? 1 : 2, "%d: %o %s\n", file, status.st_mode & S_IFMT, isatty(file) ? "a terminal" : "");
}
static void kinds(int argc, char **argv) {
    for (int file = 0; file < 3; file++) kind(file);
}

static void echoes(int argc, char **argv) {
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) printf("%zu\n", strlen(line));
    free(line);
    if (fflush(stdout) != 0) exit(errno);
}

static void descriptors(int argc, char **argv) {
    DIR *directory = opendir("/proc/self/fd");
    long count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) count += entry->d_name[0] != '.';
    closedir(directory);
    said("open", count);
    said("next", open("/dev/null", O_RDONLY));
}

static void closes_all(int argc, char **argv) {
    syscall(SYS_close_range, 3, ~0u, 0);
    said("work", (long)work(3000));
    for (int file = 3; file < 200; file++)
        if (dup2(1, file) != file) abort();
    said("work", (long)work(3000));
    pid_t child = fork();
    if (child == 0) _exit((int)(work(100) % 50));
    said("code", ended(child));
    said("thread", (long)end_thread(begin_thread(in_thread, (void *)500, 0)));
}

static void closes_streams(int argc, char **argv) {
    for (int file = 0; file < 3; file++) close(file);
    long sum = (long)work(3000);
    int file = open("out", O_WRONLY | O_CREAT, 0600);
    dprintf(file, "descriptor %d, sum %ld\n", file, sum);
}

/* Without what is ours to add: the names, in order, are those that were given. */
static void environment(int argc, char **argv) {
    for (char **variable = environ; *variable != NULL; variable++) {
        if (strncmp(*variable, "LD_PRELOAD=", 11) == 0 || strncmp(*variable, "HEAPSCRIBE", 10) == 0) continue;
        puts(*variable);
    }
}

static void clears_environment(int argc, char **argv) {
    clearenv();
    said("work", (long)work(1000));
    for (int i = 0; i < 500; i++) {
        char name[20];
        snprintf(name, sizeof name, "V%d", i % 100);
        setenv(name, name, 1);
    }
    pid_t child = fork();
    if (child == 0) execl("/proc/self/exe", argv[0], "environment", NULL);
    said("code", ended(child));
}

static void overwrites_arguments(int argc, char **argv) {
    size_t length = strlen(argv[1]);
    memset(argv[1], 'x', length);
    memset(argv[0], 'y', strlen(argv[0]));
    prctl(PR_SET_NAME, "renamed");
    said("work", (long)work(3000));
    puts(argv[1]);
}

static void limits(int argc, char **argv) {
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit;
        if (getrlimit(resource, &limit) == 0) printf("%d %ld %ld\n", resource, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
    mode_t mask = umask(0);
    printf("umask %o nice %d dumpable %d\n", mask, getpriority(PRIO_PROCESS, 0), prctl(PR_GET_DUMPABLE));
    printf("death %d keeps %d session %d\n", prctl(PR_GET_TIMERSLACK) > 0, prctl(PR_GET_KEEPCAPS),
           getsid(0) == getpid());
}

static const struct part parts[] = {
    {"kinds", kinds}, {"echoes", echoes}, {"descriptors", descriptors}, {"closes_all", closes_all},
    {"closes_streams", closes_streams}, {"environment", environment},
    {"clears_environment", clears_environment}, {"overwrites_arguments", overwrites_arguments},
    {"limits", limits},
};
MAIN(parts)
