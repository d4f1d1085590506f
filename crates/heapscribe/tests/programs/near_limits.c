// Uses nearly all of what it may have. `space MIB`: of its address space, in blocks of 64 KiB. `mappings`: of its
// mappings: maps pages until there are no more, gives 100 back, lets its heap grow by 1 GiB, and maps 100.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCK_BYTES = 64 << 10, SPARE = 100, BIG_BYTES = 4 << 20, BIG = 256, MAPPINGS_MAX = 1 << 17 };

static char *mappings[MAPPINGS_MAX];

static char *map(int number) {
    // Neighbours with the same rights would be one mapping.
    int rights = number % 2 ? PROT_READ : PROT_READ | PROT_WRITE;
    return mmap(0, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int use_mappings(void) {
    int count = 0, more = 0;
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 2 * BIG_BYTES);
    free(malloc(1)); // what we map to begin with is there
    while (count < MAPPINGS_MAX && (mappings[count] = map(count)) != MAP_FAILED) count++;
    if (count == MAPPINGS_MAX) return puts("no limit"), 0;
    for (int i = 0; i < SPARE; i++) munmap(mappings[i], 4096);
    for (int i = 0; i < BIG; i++)
        if (!malloc(BIG_BYTES)) return puts("no memory"), 1;
    while (more < SPARE && map(more) != MAP_FAILED) more++;
    // The first ones may have been one with their neighbours.
    fprintf(stderr, "%d more\n", more);
    return printf("%s\n", more > SPARE - 10 ? "all" : "too few"), more <= SPARE - 10;
}

static int use_space(int mib) {
    for (int i = 0; i < mib * 16; i++) {
        char *block = malloc(BLOCK_BYTES);
        if (!block) return printf("refused after %d KiB\n", i * 64), 1;
        memset(block, 1, 64);
    }
    return puts("all"), 0;
}

int main(int argc, char **argv) {
    return argc > 2 ? use_space(atoi(argv[2])) : use_mappings();
}
