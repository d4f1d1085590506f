// Replaces 4,096 blocks at random, for long: nearly all that was allocated is freed, and most of what is live is
// younger than the first events.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 4096 };
static void *blocks[BLOCKS];
static size_t sizes[BLOCKS];

static void *one(size_t size) { return malloc(size); }
static void *another(size_t size) { return malloc(size); }

int main(int argc, char **argv) {
    uint64_t state = 42;
    size_t live = 0;
    long rounds = argc > 1 ? atol(argv[1]) : 100000;
    for (long round = -BLOCKS; round < rounds; round++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int at = round < 0 ? round + BLOCKS : state >> 52;
        size_t size = 1 + (state >> 40) % 300;
        if (round >= 0) free(blocks[at]);
        blocks[at] = state >> 30 & 1 ? one(size) : another(size);
        sizes[at] = size;
    }
    for (int i = 0; i < BLOCKS; i++) live += sizes[i];
    char text[64];
    int n = snprintf(text, sizeof text, "%d %zu\n", BLOCKS, live);
    return fwrite(text, 1, n, stdout) == n ? 0 : 1;
}
