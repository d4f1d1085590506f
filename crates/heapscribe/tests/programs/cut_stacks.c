// Stacks that are cut, each for a known reason, a known number of times: by threads in turns, so that records
// of threads are taken over, and by a child. Arguments: turns, threads, calls; with a fourth it then waits.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void *cut_no_info(size_t size), *cut_bounds(size_t size), *cut_rule(size_t size);
// Without any unwinding information, and nothing that could be a frame pointer.
__asm__(".text\n.globl cut_no_info\ncut_no_info:\n"
        "push %rbp\nmov $1, %ebp\ncall malloc@PLT\npop %rbp\nret\n");
// Its caller's frame is a GiB above.
__asm__(".globl cut_bounds\ncut_bounds:\n.cfi_startproc\n.cfi_def_cfa_offset 0x40000000\n"
        "push %rbp\nmov $1, %ebp\ncall malloc@PLT\npop %rbp\nret\n.cfi_endproc\n");
// Its caller's frame is where an operation says that nobody knows (DW_OP_lo_user).
__asm__(".globl cut_rule\ncut_rule:\n.cfi_startproc\n.cfi_escape 0x0f, 0x01, 0xe0\n"
        "push %rbp\nmov $1, %ebp\ncall malloc@PLT\npop %rbp\nret\n.cfi_endproc\n");

// More frames than a stack has.
__attribute__((noinline)) void *cut_depth(size_t size, int frames) {
    void *volatile block = frames ? cut_depth(size, frames - 1) : malloc(size);
    return block;
}

static long calls;

static void cut(void) {
    for (long i = 0; i < calls; i++) {
        free(cut_no_info(10));
        free(cut_no_info(20));
        free(cut_no_info(30));
        free(cut_bounds(40));
        free(cut_rule(50));
        free(cut_rule(60));
    }
    free(cut_depth(70, 5000));
}

static void *thread(void *unused) {
    cut();
    return unused;
}

int main(int count, char **arguments) {
    calls = atol(arguments[3]);
    int threads = atoi(arguments[2]);
    pthread_t started[threads];
    for (int turn = atoi(arguments[1]); turn > 0; turn--) {
        for (int i = 0; i < threads; i++)
            if (pthread_create(&started[i], NULL, thread, NULL)) return 1;
        for (int i = 0; i < threads; i++) pthread_join(started[i], NULL);
    }
    if (fork() == 0) {
        cut();
        _exit(0);
    }
    wait(NULL);
    printf("ready\n");
    fflush(stdout);
    while (count > 4) pause();
    return 0;
}
