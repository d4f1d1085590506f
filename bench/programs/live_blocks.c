/* Keeps N blocks of 16 to 215 bytes (a million, or as many as the argument says), and replaces one after the
 * other, ten thousand a second. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 1000000;
    void **all = malloc(n * sizeof *all);
    unsigned x = 1;
    for (long i = 0; i < n; i++) {
        x = x * 1103515245 + 12345;
        all[i] = malloc(16 + (x >> 16) % 200);
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        for (int k = 0; k < 10; k++) {
            x = x * 1103515245 + 12345;
            long i = (x >> 4) % n;
            free(all[i]);
            all[i] = malloc(16 + (x >> 16) % 200);
        }
        struct timespec nap = {0, 1000000};
        nanosleep(&nap, 0);
    }
}
