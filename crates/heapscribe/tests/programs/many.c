// Processes that hold blocks of a MiB and do not free them: one after the other, at once, by fork, by exec.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *blocks[256];

static void hold(int from, int count) {
    for (int i = from; i < from + count; i++) {
        blocks[i] = malloc(1 << 20);
        if (!blocks[i]) abort();
    }
}

static void wait_for_all(void) {
    while (wait(NULL) > 0) {
    }
}

// Children that hold at one time: each says so, and ends when all of them have.
static void overlap(int children) {
    int held[2], end[2];
    char byte = 0;
    if (pipe(held) || pipe(end)) abort();
    for (int i = 0; i < children; i++) {
        if (fork() == 0) {
            hold(0, 10);
            close(end[1]);
            if (write(held[1], &byte, 1) != 1 || read(end[0], &byte, 1) != 0) abort();
            _exit(0);
        }
    }
    for (int i = 0; i < children; i++)
        if (read(held[0], &byte, 1) != 1) abort();
    close(end[1]);
    wait_for_all();
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    int number = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(argv[1], "hold")) {
        hold(0, 10);
    } else if (!strcmp(argv[1], "in-turn")) {
        for (int i = 0; i < number; i++) {
            if (fork() == 0) {
                hold(0, 10);
                exit(0);
            }
            wait_for_all();
        }
    } else if (!strcmp(argv[1], "leaks")) {
        for (int i = 1; i <= number; i++) {
            if (fork() == 0) _exit(malloc(1000 * i) == NULL);
            wait_for_all();
        }
    } else if (!strcmp(argv[1], "overlap")) {
        overlap(number);
    } else if (!strcmp(argv[1], "fork")) {
        // The parent's blocks are in the child, too, and are freed there: they are the parent's all the same.
        hold(0, 10);
        if (fork() == 0) {
            for (int i = 0; i < 10; i++) free(blocks[i]);
            hold(0, 3);
            exit(0);
        }
        wait_for_all();
    } else if (!strcmp(argv[1], "exec")) {
        hold(0, 10);
        if (number > 0) {
            char rest[16];
            snprintf(rest, sizeof rest, "%d", number - 1);
            execl(argv[0], argv[0], "exec", rest, NULL);
            abort();
        }
    } else if (!strcmp(argv[1], "small")) {
        // What is resident, by the program's own count, when it holds so many small blocks.
        for (int i = 0; i < number; i++) memset(malloc(64), 1, 64);
        char status[4096];
        int file = open("/proc/self/status", O_RDONLY);
        int n = read(file, status, sizeof status - 1);
        status[n] = 0;
        printf("%s", strstr(status, "VmRSS:"));
        fflush(stdout);
        if (argc > 3)
            while (access(argv[3], F_OK) != 0) usleep(1000);
    } else {
        return 2;
    }
    return 0;
}
