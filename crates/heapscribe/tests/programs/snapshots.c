// Takes named snapshots of itself while other threads allocate: "one" with a block of 123,456 bytes and one
// of a pool inside it at the same address, "two" without them, two that are refused, and one of a child.
#include "heapscribe.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3 };

static atomic_int stop;

static void *churns(void *unused) {
    while (!stop) {
        void *blocks[8];
        for (int i = 0; i < 8; i++) blocks[i] = malloc(40 + i);
        for (int i = 0; i < 8; i++) free(blocks[i]);
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    char long_name[66];
    memset(long_name, 'x', 65);
    long_name[65] = 0;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, churns, NULL);
    char *block = malloc(123456);
    heapscribe_pool_alloc(block, 789);
    errno = 42;
    heapscribe_snapshot("one");
    heapscribe_pool_free(block);
    free(block);
    heapscribe_snapshot("two");
    heapscribe_snapshot(long_name);
    heapscribe_snapshot("\xff");
    int kept = errno == 42;
    stop = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    char byte;
    printf("%d\n", kept);
    fflush(stdout);
    while (access("go", F_OK) != 0) usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        free(malloc(1));
        heapscribe_snapshot("of a child");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return read(0, &byte, 1);
}
