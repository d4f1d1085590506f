// A service for bench/fleet: requests that come and go, a cache that is full soon, and, built with -DLEAK, sessions of which
// one in four is never closed. Runs for so many seconds, and prints how many sessions it left open.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *cache[128];
static void *sessions[64];
static long left_open;

static __attribute__((noinline)) void *fill(size_t bytes) {
    void *block = malloc(bytes);
    memset(block, 1, bytes);
    return block;
}

static __attribute__((noinline)) void handle_request(int n) { free(fill(2000 + n % 3000)); }

static __attribute__((noinline)) void cache_page(int n) {
    int at = rand() % 128;
    free(cache[at]);
    cache[at] = fill(4096 + n % 512);
}

static __attribute__((noinline)) void open_session(int n) {
    int at = n % 64;
#ifdef LEAK
    if (n % 4 == 0) {
        left_open += sessions[at] != NULL;
        sessions[at] = NULL;
    }
#endif
    free(sessions[at]);
    sessions[at] = fill(6000);
}

int main(int argc, char **argv) {
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
    srand(getpid());
    for (int n = 0; time(NULL) < end; n++) {
        handle_request(n);
        cache_page(n);
        if (n % 3 == 0) open_session(n / 3);
        usleep(2000 + rand() % 1000);
    }
    char line[32];
    return write(1, line, snprintf(line, sizeof line, "%ld\n", left_open)) < 0;
}
