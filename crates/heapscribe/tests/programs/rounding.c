/* Allocates blocks of many sizes from a heap that nothing was freed of, so that each is what the rule says, then frees
   some. Prints what it asked for and what malloc_usable_size says: of all, and of those that stay. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 3000 };

void *volatile kept[BLOCKS];

int main(void) {
    unsigned long asked = 0, given = 0, left_asked = 0, left_given = 0;
    for (unsigned long n = 0; n < BLOCKS; n++) {
        unsigned long size = n * 7919 % 9001;
        kept[n] = malloc(size);
        unsigned long usable = malloc_usable_size(kept[n]);
        asked += size, given += usable;
        if (n % 3 == 0)
            left_asked += size, left_given += usable;
    }
    for (int n = 0; n < BLOCKS; n++)
        if (n % 3 != 0)
            free(kept[n]);
    char line[100]; /* on the stack: printf would allocate */
    int length = snprintf(line, sizeof line, "%lu %lu %lu %lu\n", asked, given, left_asked, left_given);
    return write(1, line, length) != length;
}
