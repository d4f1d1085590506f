// Allocates more at each line of its input, and says so: what is live grows by known amounts.
#include <stdio.h>
#include <stdlib.h>

static void *kept[300];

__attribute__((noinline)) static void first_step(void) {
    for (int i = 0; i < 100; i++) kept[i] = malloc(1000);
}

__attribute__((noinline)) static void second_step(void) {
    for (int i = 0; i < 50; i++) { free(kept[i]); kept[i] = NULL; }
    for (int i = 100; i < 300; i++) kept[i] = malloc(3000);
}

int main(void) {
    first_step();
    puts("first");
    fflush(stdout);
    getchar();
    second_step();
    puts("second");
    fflush(stdout);
    getchar();
    for (int i = 0; i < 300; i++) free(kept[i]);
    return 0;
}
