// Holds a million blocks of 24 bytes, says so, and waits to be told to end.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    static void *kept[1000000];
    for (int i = 0; i < 1000000; i++) kept[i] = malloc(24);
    puts("holds");
    fflush(stdout);
    getchar();
    for (int i = 0; i < 1000000; i++) free(kept[i]);
    return 0;
}
