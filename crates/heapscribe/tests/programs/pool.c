// Holds 100 blocks of 10,000 bytes after it has held 200, and has asked once for 8 MiB. With "fork" a child
// takes 50 blocks more; with "wait" it ends never; with "kill" it is killed; with
// "quiet" it writes nothing.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile blocks[400];

static void hold(int from, int to) {
    for (int i = from; i < to; i++)
        blocks[i] = malloc(10000);
}

// Enough calls for the heap to tell of itself.
static void call(void) {
    for (int i = 0; i < 300; i++)
        free(blocks[399] = malloc(10));
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "exit";
    hold(0, 200);
    for (int i = 100; i < 200; i++)
        free(blocks[i]);
    blocks[300] = malloc(8 << 20);
    call();
    if (!strcmp(mode, "fork")) {
        if (fork() == 0) {
            hold(100, 150);
            exit(0);
        }
        wait(NULL);
    }
    if (strcmp(mode, "quiet"))
        write(1, "held\n", 5);
    if (!strcmp(mode, "wait"))
        pause();
    if (!strcmp(mode, "kill"))
        raise(SIGKILL);
    return blocks[300] == NULL ? 0 : 1;
}
