// Says in which phase it is, which request it serves, and which blocks come from its own arena.
#include <stdio.h>
#include <stdlib.h>

#include "heapscribe.h"

static char arena[64 << 10];
static size_t arena_used;

static void *arena_alloc(size_t size) {
    void *block = arena + arena_used;
    arena_used += (size + 15) & ~(size_t)15;
    heapscribe_pool_alloc(block, size);
    return block;
}

static void parse_configuration(char **settings) {
    for (int i = 0; i < 20; i++) settings[i] = malloc(100);
}

static int serve(int number) {
    heapscribe_section_begin("request");
    int *answer = malloc(1000 + number);
    *answer = number;
    int *header = arena_alloc(48);
    *header = number;
    int sum = *answer + *header;
    heapscribe_pool_free(header);
    free(answer);
    heapscribe_section_end("request");
    return sum;
}

int main(void) {
    char *settings[20];
    parse_configuration(settings);
    heapscribe_mark("configuration read");
    int sum = 0;
    for (int number = 0; number < 500; number++) sum += serve(number);
    heapscribe_mark("done");
    for (int i = 0; i < 20; i++) free(settings[i]);
    printf("%d\n", sum);
    return 0;
}
