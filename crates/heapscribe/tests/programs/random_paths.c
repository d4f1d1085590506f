/* Allocates at the end of a path of 16 calls that chance chooses: `random_paths PATHS`. Hardly two are the same, and none
   says where the next one goes. Frees all but each third block. */
#include <stdlib.h>

typedef void (*function)(int);
void north(int), east(int), south(int), west(int);
static const function all[4] = {north, east, south, west};
static unsigned long long chance = 1;
static unsigned number;
static void *volatile block;

static __attribute__((noinline)) void descend(int depth) {
    if (depth > 0) {
        chance = chance * 6364136223846793005ULL + 1442695040888963407ULL;
        all[chance >> 62](depth - 1);
    } else {
        block = malloc(64);
        if (number++ % 3 != 0) free(block);
    }
    __asm__ volatile("");
}

#define FUNCTION(name) __attribute__((noinline)) void name(int depth) { descend(depth); __asm__ volatile(""); }
FUNCTION(north) FUNCTION(east) FUNCTION(south) FUNCTION(west)

int main(int count, char **words) {
    if (count < 2) return 2;
    for (int path = atoi(words[1]); path > 0; path--) descend(16);
    return 0;
}
