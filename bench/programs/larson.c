/* Threads hand their blocks on to threads, as a server does whose workers come and go: each line of
 * succession owns 1000 blocks and replaces random ones by blocks of random size; after 50000 replacements
 * the thread starts its successor, which frees what its forerunners have asked for.
 *
 *   larson THREADS OPERATIONS     an operation is one replacement: a free and a malloc */
#include "bench.h"
#include <semaphore.h>

enum { BLOCKS = 1000, A_LIFE = 50000, SIZE_LEAST = 8, SIZE_MOST = 1000 };

struct line {
    unsigned char *blocks[BLOCKS];
    uint64_t random;
    uint64_t checksum;
    long left;
};

static sem_t ended;

static size_t some_size(uint64_t random) { return SIZE_LEAST + random % (SIZE_MOST - SIZE_LEAST + 1); }

static unsigned char *block(uint64_t random) {
    unsigned char *p = checked(malloc(some_size(random)));
    p[0] = (unsigned char)(random >> 32);
    return p;
}

static void *live(void *argument) {
    struct line *line = argument;
    for (int i = 0; i < A_LIFE && line->left > 0; i++, line->left--) {
        uint64_t random = next_random(&line->random);
        unsigned char **place = &line->blocks[(random >> 40) % BLOCKS];
        line->checksum += (*place)[0] * (uint64_t)(line->left % 251 + 1);
        free(*place);
        *place = block(random);
    }
    if (line->left > 0)
        pthread_detach(started(live, line));
    else
        sem_post(&ended);
    return NULL;
}

int main(int argc, char **argv) {
    const char *usage = "THREADS OPERATIONS";
    long threads = argument(argc, argv, 1, 1, usage), operations = argument(argc, argv, 2, 1, usage);
    struct line *lines = checked(calloc((size_t)threads, sizeof *lines));
    sem_init(&ended, 0, 0);
    for (long i = 0; i < threads; i++) {
        lines[i].random = seeded((uint64_t)i);
        lines[i].left = operations / threads;
        for (int b = 0; b < BLOCKS; b++) lines[i].blocks[b] = block(next_random(&lines[i].random));
    }
    for (long i = 0; i < threads; i++) pthread_detach(started(live, &lines[i]));
    for (long i = 0; i < threads; i++) sem_wait(&ended);
    uint64_t checksum = 0;
    for (long i = 0; i < threads; i++) {
        checksum += lines[i].checksum;
        for (int b = 0; b < BLOCKS; b++) free(lines[i].blocks[b]);
    }
    free(lines);
    return finished(operations / threads * threads, checksum);
}
