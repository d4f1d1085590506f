// Holds blocks of known sizes from named functions, says so, and waits to be told to end.
#include <stdio.h>
#include <stdlib.h>

static void *kept[600];

__attribute__((noinline)) static void hold_large(int from) {
    for (int i = 0; i < 100; i++) kept[from + i] = malloc(100000);
}

__attribute__((noinline)) static void hold_small(int from) {
    for (int i = 0; i < 500; i++) kept[from + i] = malloc(100);
}

int main(void) {
    hold_large(0);
    hold_small(100);
    puts("holds");
    fflush(stdout);
    getchar();
    for (int i = 0; i < 600; i++) free(kept[i]);
    return 0;
}
