/* A pool of its own in static memory: three rounds of 30,000 blocks, of which a third of the last are freed. It never
 * has more than one round. The first argument is the size of a block. It prints what it allocated, had at the most and
 * never freed, in bytes. */
#include <stdio.h>
#include <stdlib.h>
#include "heapscribe.h"

enum { BLOCKS = 30000, ROUNDS = 3 };
static char pool[BLOCKS][1000];

int main(int argc, char **argv) {
    size_t size = argc > 1 ? strtoul(argv[1], 0, 10) : 1000, live = 0, peak = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            heapscribe_pool_alloc(pool[i], size);
            live += size;
        }
        peak = live > peak ? live : peak;
        int step = round + 1 < ROUNDS ? 1 : 3;
        for (int i = 0; i < BLOCKS; i += step) {
            heapscribe_pool_free(pool[i]);
            live -= size;
        }
    }
    printf("%zu %zu %zu\n", (size_t)ROUNDS * BLOCKS * size, peak, live);
    return 0;
}
