/* Allocates on known lines, one of them in an inlined function, one below recursion.
   What the page shows of this file is text: <script>alert(1)</script> <img src=x onerror=alert(2)> */
#include <stdlib.h>

void *volatile kept;

static inline __attribute__((always_inline)) void make(size_t size) {
    kept = malloc(size);
}

__attribute__((noinline)) void load(void) {
    for (int i = 0; i < 100; i++)
        make(1000);
    for (int i = 0; i < 50; i++)
        make(300);
}

__attribute__((noinline)) void parse(int depth) {
    if (depth > 0)
        parse(depth - 1);
    else
        make(7000);
    kept = 0;
}

int main(void) {
    load();
    parse(3);
    free(malloc(64));
    return 0;
}
