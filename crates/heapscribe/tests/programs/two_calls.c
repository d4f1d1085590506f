// Holds blocks of two sizes from two calls of malloc in one function, says so, and waits to be told to end.
#include <stdio.h>
#include <stdlib.h>

static void *kept[2];

__attribute__((noinline)) static void hold_both(void) {
    kept[0] = malloc(4 << 20);
    kept[1] = malloc(100000);
}

int main(void) {
    hold_both();
    puts("holds");
    fflush(stdout);
    getchar();
    free(kept[0]);
    free(kept[1]);
    return 0;
}
