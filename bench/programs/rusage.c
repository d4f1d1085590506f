/* Runs a command and writes down what it took: the harness's stop watch.
 *
 *   rusage FILE STDOUT STDERR -- CMD ARGS...     STDOUT and STDERR are files, or - for what we have
 *
 * FILE gets one line: user s, system s, wall s, peak resident KiB, exit code (128 + N for signal N). The times
 * are those of CMD and of everything that it started, whether CMD waited for it or not: what outlives its
 * parent becomes our child. Ends as CMD did.
 *
 * Linked statically: a library that is preloaded into CMD is not loaded here, so that the stop watch is
 * neither recorded nor slowed by what it measures. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void end_group(int signal) {
    (void)signal;
    kill(0, SIGKILL);
}

static void redirect(const char *path, int descriptor) {
    if (strcmp(path, "-") == 0) return;
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || dup2(file, descriptor) < 0) {
        perror(path);
        _exit(125);
    }
}

int main(int argc, char **argv) {
    if (argc < 6 || strcmp(argv[4], "--") != 0) {
        fprintf(stderr, "usage: rusage FILE STDOUT STDERR -- CMD ARGS...\n");
        return 125;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* The outer one leads a group: when the harness is gone, so is all that it started. */
    if (getpgrp() == getpid()) {
        signal(SIGHUP, end_group);
        prctl(PR_SET_PDEATHSIG, SIGHUP);
    }
    double begin = now();
    pid_t child = fork();
    if (child == 0) {
        redirect(argv[2], STDOUT_FILENO);
        redirect(argv[3], STDERR_FILENO);
        execvp(argv[5], &argv[5]);
        perror(argv[5]);
        _exit(127);
    }
    if (child < 0) {
        perror("fork");
        return 125;
    }
    /* What the terminal or the harness tells the group is for CMD; we stay to write down what it took. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    int code = 125, status;
    double wall = 0;
    for (pid_t pid; (pid = wait(&status)) > 0;)
        if (pid == child) {
            wall = now() - begin;
            code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
    struct rusage all;
    getrusage(RUSAGE_CHILDREN, &all);
    FILE *out = fopen(argv[1], "w");
    if (out == NULL) {
        perror(argv[1]);
        return 125;
    }
    fprintf(out, "%.6f %.6f %.6f %ld %d\n", seconds(all.ru_utime), seconds(all.ru_stime), wall, all.ru_maxrss, code);
    return fclose(out) == 0 ? code : 125;
}
