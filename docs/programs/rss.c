// Fills a cache with small entries, drops nearly all of them, and keeps one here and there.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES = 200000 };
static char *entries[ENTRIES];

static void fill_cache(void) {
    for (int i = 0; i < ENTRIES; i++) {
        entries[i] = malloc(240);
        memset(entries[i], i, 240);
    }
}

static void expire_cache(void) {
    for (int i = 0; i < ENTRIES; i++) {
        if (i % 64 == 0) continue;  // still in use
        free(entries[i]);
        entries[i] = NULL;
    }
}

int main(int count, char **words) {
    fill_cache();
    usleep(100000);
    expire_cache();
    usleep(300000);
    puts("cache expired");
    if (count > 1) sleep(atoi(words[1]));
    return 0;
}
