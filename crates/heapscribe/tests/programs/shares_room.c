// A heap of 480 MiB, a quarter of it in memory, and then memory that is shared through a file: where that has no page left, a
// store ends the program.
#include "counted.h"

#define BLOCKS (30 << 10)
#define SHARED (8 << 20)

int main(int argc, char **argv) {
    static void *blocks[BLOCKS];
    counts_open();
    for (int i = 0; i < BLOCKS; i++) if (!(blocks[i] = MALLOC(16000))) return 90;
    int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (ftruncate(fd, SHARED)) return 91;
    char *shared = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) return 92;
    memset(shared, 1, SHARED);
    for (int i = 0; i < BLOCKS; i++) FREE(blocks[i]);
    puts("work done");
    return 0;
}
