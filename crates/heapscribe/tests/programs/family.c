/* Children in turn, each with many short-lived blocks, so that a ring evicts the first ones completely. Child k
   never frees a block of 1000 + k bytes, the first one 1,000,000 bytes beside it; the parent 77 bytes. With
   FAMILY_PEAK=BYTES and FAMILY_ROUNDS=N the parent has that much for a moment, and then goes such rounds. Nothing
   else allocates. family CHILDREN ROUNDS */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void keep(size_t bytes) { kept = malloc(bytes); }

/* Blocks of 1 to 4,000 bytes, so that events do not compress to nothing. */
static void churn(int rounds) {
    unsigned long random = 1;
    for (int round = 0; round < rounds; round++) {
        random = random * 6364136223846793005ul + 1442695040888963407ul;
        free((void *)(kept = malloc(1 + (random >> 33) % 4000)));
    }
}

int main(int argc, char **argv) {
    int children = atoi(argv[1]), rounds = atoi(argv[2]);
    keep(77);
    if (getenv("FAMILY_PEAK")) {
        free((void *)(kept = malloc(atoi(getenv("FAMILY_PEAK")))));
        churn(atoi(getenv("FAMILY_ROUNDS")));
    }
    for (int child = 0; child < children; child++) {
        if (fork() == 0) {
            keep(1000 + child);
            if (child == 0) {
                keep(1000000);
            }
            churn(rounds);
            _exit(0);
        }
        wait(0);
    }
    return argc > 3;
}
