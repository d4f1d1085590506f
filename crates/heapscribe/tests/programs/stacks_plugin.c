// A plug-in of which two are made, alike but for the size of a frame (-DFRAME), so that the same address
// needs another unwinding rule in each.
#include <stdlib.h>
#include <string.h>

typedef void Call(void *);

__attribute__((noinline)) void deeper(Call *call, void *tree, int depth) {
    volatile char frame[FRAME];
    frame[0] = (char)depth;
    char *block = malloc(FRAME);
    block[0] = frame[0];
    if (depth > 0) deeper(call, tree, depth - 1);
    else call(tree);
    free(block);
    frame[1] = frame[0];
}

void enter(Call *call, void *tree, int depth) { deeper(call, tree, depth); }
