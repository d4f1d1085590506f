// Holds 100 blocks of 10,000 bytes after it has held 200, and has asked once for 8 MiB. With "fork" a child
// takes 50 blocks more; with "wait" it ends never; with "kill" it is killed; with
// "quiet" it writes nothing. With "large" and the name of a function it asks that for a block of 1 MiB, its
// one call, and is killed.
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

static void large(const char *function) {
    if (!strcmp(function, "malloc"))
        blocks[0] = malloc(1 << 20);
    if (!strcmp(function, "calloc"))
        blocks[0] = calloc(1 << 10, 1 << 10);
    if (!strcmp(function, "realloc"))
        blocks[0] = realloc(malloc(10), 1 << 20);
    if (!strcmp(function, "posix_memalign"))
        posix_memalign((void **)&blocks[0], 4096, 1 << 20);
    if (!strcmp(function, "aligned_alloc"))
        blocks[0] = aligned_alloc(64, 1 << 20);
    raise(SIGKILL);
}

int main(int argc, char **argv) {
    if (argc > 2)
        large(argv[2]);
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
