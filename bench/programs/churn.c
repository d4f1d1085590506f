/* Threads that are born, allocate a little, and die, as in a program that starts a thread for each request:
 * each life asks for 100 blocks and frees 90; the ten that are left are freed by who started it.
 *
 *   churn THREADS OPERATIONS     THREADS start lives, one after the other; an operation is one block */
#include "bench.h"

enum { BLOCKS = 100, LEFT = 10, SIZE_LEAST = 16, SIZE_MOST = 512 };

struct life {
    unsigned char *left[LEFT];
    uint64_t random;
    uint64_t checksum;
};

struct starter {
    long lives;
    uint64_t number;
    uint64_t checksum;
};

static void *live(void *argument) {
    struct life *life = argument;
    unsigned char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        uint64_t random = next_random(&life->random);
        blocks[i] = checked(malloc(SIZE_LEAST + random % (SIZE_MOST - SIZE_LEAST + 1)));
        blocks[i][0] = (unsigned char)(random >> 32);
    }
    for (int i = 0; i < BLOCKS; i++) {
        life->checksum += blocks[i][0] * (uint64_t)(i + 1);
        if (i < LEFT)
            life->left[i] = blocks[i];
        else
            free(blocks[i]);
    }
    return NULL;
}

static void *start_lives(void *argument) {
    struct starter *starter = argument;
    for (long n = 0; n < starter->lives; n++) {
        struct life life = {.random = seeded(starter->number << 32 | (uint64_t)n)};
        pthread_join(started(live, &life), NULL);
        starter->checksum += life.checksum;
        for (int i = 0; i < LEFT; i++) free(life.left[i]);
    }
    return NULL;
}

int main(int argc, char **argv) {
    const char *usage = "THREADS OPERATIONS";
    long threads = argument(argc, argv, 1, 1, usage), operations = argument(argc, argv, 2, BLOCKS, usage);
    struct starter *starters = checked(calloc((size_t)threads, sizeof *starters));
    pthread_t *ids = checked(calloc((size_t)threads, sizeof *ids));
    for (long i = 0; i < threads; i++) {
        starters[i] = (struct starter){.lives = operations / BLOCKS / threads, .number = (uint64_t)i};
        ids[i] = started(start_lives, &starters[i]);
    }
    uint64_t checksum = 0;
    for (long i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        checksum += starters[i].checksum;
    }
    operations = threads * starters[0].lives * BLOCKS;
    free(ids);
    free(starters);
    return finished(operations, checksum);
}
