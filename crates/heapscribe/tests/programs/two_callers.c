/* Two calls of a function that allocates: 100 blocks of 1,000 bytes by one, 100 of 500 by the other. */
#include <stdlib.h>

__attribute__((noinline)) static void *take(size_t bytes) {
    void *block = malloc(bytes);
    return block;
}

int main(void) {
    void *volatile block;
    for (int i = 0; i < 100; i++) {
        block = take(1000);
        block = take(500);
    }
    return block == NULL;
}
