/* One thread allocates, another frees, as in a pipeline: a producer fills batches of 256 blocks and hands
 * them through a ring to its consumer, which reads and frees them. With one thread the two take turns.
 *
 *   producer_consumer THREADS OPERATIONS     an operation is one block: a malloc here, a free there */
#include "bench.h"

enum { BATCH = 256, RING = 16, SIZE_LEAST = 16, SIZE_MOST = 256 };

struct batch {
    unsigned char *blocks[BATCH];
};

struct pair {
    struct batch ring[RING];
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    long made, taken; /* batches, under the lock */
    long batches;
    uint64_t random;
    uint64_t checksum;
};

static void fill(struct batch *batch, uint64_t *random) {
    for (int i = 0; i < BATCH; i++) {
        uint64_t value = next_random(random);
        size_t size = SIZE_LEAST + value % (SIZE_MOST - SIZE_LEAST + 1);
        unsigned char *p = checked(malloc(size));
        p[0] = p[size - 1] = (unsigned char)(value >> 32);
        batch->blocks[i] = p;
    }
}

static uint64_t empty(struct batch *batch) {
    uint64_t sum = 0;
    for (int i = 0; i < BATCH; i++) {
        sum += batch->blocks[i][0] * (uint64_t)(i + 1);
        free(batch->blocks[i]);
    }
    return sum;
}

static void *produce(void *argument) {
    struct pair *pair = argument;
    for (long n = 0; n < pair->batches; n++) {
        pthread_mutex_lock(&pair->lock);
        while (pair->made - pair->taken == RING) pthread_cond_wait(&pair->emptied, &pair->lock);
        pthread_mutex_unlock(&pair->lock);
        fill(&pair->ring[n % RING], &pair->random);
        pthread_mutex_lock(&pair->lock);
        pair->made++;
        pthread_cond_signal(&pair->filled);
        pthread_mutex_unlock(&pair->lock);
    }
    return NULL;
}

static void *consume(void *argument) {
    struct pair *pair = argument;
    for (long n = 0; n < pair->batches; n++) {
        pthread_mutex_lock(&pair->lock);
        while (pair->made == pair->taken) pthread_cond_wait(&pair->filled, &pair->lock);
        pthread_mutex_unlock(&pair->lock);
        pair->checksum += empty(&pair->ring[n % RING]);
        pthread_mutex_lock(&pair->lock);
        pair->taken++;
        pthread_cond_signal(&pair->emptied);
        pthread_mutex_unlock(&pair->lock);
    }
    return NULL;
}

static void alone(struct pair *pair) {
    for (long n = 0; n < pair->batches; n++) {
        fill(&pair->ring[0], &pair->random);
        pair->checksum += empty(&pair->ring[0]);
    }
}

int main(int argc, char **argv) {
    const char *usage = "THREADS OPERATIONS     THREADS is 1 or even";
    long threads = argument(argc, argv, 1, 1, usage), operations = argument(argc, argv, 2, BATCH, usage);
    long pairs = threads > 1 ? threads / 2 : 1;
    struct pair *pair = checked(calloc((size_t)pairs, sizeof *pair));
    pthread_t *ids = checked(calloc((size_t)pairs * 2, sizeof *ids));
    for (long i = 0; i < pairs; i++) {
        pthread_mutex_init(&pair[i].lock, NULL);
        pthread_cond_init(&pair[i].filled, NULL);
        pthread_cond_init(&pair[i].emptied, NULL);
        pair[i].random = seeded((uint64_t)i);
        pair[i].batches = operations / BATCH / pairs;
    }
    if (threads == 1) {
        alone(pair);
    } else {
        for (long i = 0; i < pairs; i++) ids[2 * i] = started(produce, &pair[i]), ids[2 * i + 1] = started(consume, &pair[i]);
        for (long i = 0; i < 2 * pairs; i++) pthread_join(ids[i], NULL);
    }
    uint64_t checksum = 0;
    for (long i = 0; i < pairs; i++) checksum += pair[i].checksum;
    operations = pairs * pair[0].batches * BATCH;
    free(ids);
    free(pair);
    return finished(operations, checksum);
}
