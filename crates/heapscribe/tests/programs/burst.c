// Allocates so many blocks of 64 bytes, of which it frees all but every tenth, says how many, and lives until its input ends.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 1000;
    for (long i = 0; i < count; i++) {
        void *volatile block = malloc(64);
        if (i % 10) free(block);
    }
    char line[32];
    long n = write(1, line, snprintf(line, sizeof line, "%ld\n", count));
    while (read(0, line, sizeof line) > 0) n++;
    return n < 0;
}
