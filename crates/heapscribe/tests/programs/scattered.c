// Blocks at so many places that the live table has no room for them all: none is freed unseen, and nearly all are
// freed.
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 20000, KEPT = 27, BYTES = 2700 };
static void *blocks[BLOCKS];

int main(void) {
    for (int i = 0; i < BLOCKS; i++) blocks[i] = malloc(BYTES);
    for (int i = KEPT; i < BLOCKS; i++) free(blocks[i]);
    return 0;
}
