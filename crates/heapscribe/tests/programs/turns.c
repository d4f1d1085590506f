/* Two that have a block of 1 MiB in turn, never both at a time: `turns HOW ROUNDS`, where HOW is who the other one is,
   `thread`, `fork`, `spawn` (a process by posix_spawn, which tells its parent nothing), `spin` (one that waits for shared
   memory to change, so that a turn is over within a microsecond), or `alone` for nobody. Before the
   other begins, and in each turn, there are many small blocks; 100 of 50 bytes are never freed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile kept;
static int rounds, first[2], second[2];

static void churn(int blocks) {
    for (int i = 0; i < blocks; i++)
        free((void *)(kept = malloc(1 + i % 300)));
}

/* Takes turns: waits for one end, has its block, and lets the other go on. */
static void take_turns(int waits, int lets, int is_first) {
    char byte = 0;
    for (int round = 0; round < rounds; round++) {
        if ((round > 0 || !is_first) && read(waits, &byte, 1) != 1)
            exit(3);
        void *volatile block = malloc(1 << 20);
        churn(3);
        free(block);
        if (write(lets, &byte, 1) != 1)
            exit(4);
    }
}

/* The same by a word of shared memory, which says whose turn it is. */
static void spin(int memory, int own) {
    _Atomic int *turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (turn == MAP_FAILED)
        exit(6);
    for (int round = 0; round < rounds; round++) {
        for (int tries = 0; *turn != own; tries++)
            if (tries > 1000)
                sched_yield();
        void *volatile block = malloc(1 << 20);
        free(block);
        *turn = !own;
    }
}

static void *other(void *unused) {
    take_turns(first[0], second[1], 0);
    return unused;
}

int main(int argc, char **argv) {
    rounds = atoi(argv[2]);
    if (argc > 3) {
        first[0] = 3, second[1] = 4;
        if (!strcmp(argv[1], "spin"))
            spin(3, 1);
        else
            other(NULL);
        return 0;
    }
    for (int i = 0; i < 100; i++)
        kept = malloc(50);
    churn(200000);
    if (pipe(first) || pipe(second))
        return 2;
    pthread_t thread;
    pid_t child = 0;
    if (!strcmp(argv[1], "thread"))
        pthread_create(&thread, NULL, other, NULL);
    if (!strcmp(argv[1], "fork") && (child = fork()) == 0) {
        other(NULL);
        _exit(0);
    }
    int memory = memfd_create("turn", 0);
    if (memory < 0 || ftruncate(memory, 4096))
        return 7;
    int spins = !strcmp(argv[1], "spin");
    if (spins || !strcmp(argv[1], "spawn")) {
        char *args[] = {argv[0], argv[1], argv[2], "other", NULL};
        posix_spawn_file_actions_t ends;
        posix_spawn_file_actions_init(&ends);
        int high = fcntl(spins ? memory : first[0], F_DUPFD, 10), low = fcntl(second[1], F_DUPFD, 11);
        posix_spawn_file_actions_adddup2(&ends, high, 3);
        posix_spawn_file_actions_adddup2(&ends, low, 4);
        if (posix_spawn(&child, argv[0], &ends, NULL, args, environ))
            return 5;
        posix_spawn_file_actions_destroy(&ends);
    }
    if (!strcmp(argv[1], "alone"))
        return 0;
    if (spins)
        spin(memory, 0);
    else
        take_turns(second[0], first[1], 1);
    if (child)
        waitpid(child, NULL, 0);
    else
        pthread_join(thread, NULL);
    return 0;
}
