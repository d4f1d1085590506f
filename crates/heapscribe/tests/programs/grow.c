// Grows by 200,000 bytes each 10 ms to 12 million, stays there until a file is there, and gives all back.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char *block[60];
    for (int i = 0; i < 60; i++) {
        block[i] = malloc(200000);
        memset(block[i], 1, 200000);
        usleep(10000);
    }
    while (access(argv[argc - 1], F_OK) != 0) usleep(1000);
    for (int i = 0; i < 60; i++) free(block[i]);
    usleep(100000);
    return 0;
}
