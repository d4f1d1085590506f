// Keeps 800,000 blocks of 40 bytes, all of them touched, until a file is there: the recorder has half as much for them.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static char *volatile block[800000];
    for (int i = 0; i < 800000; i++) *(block[i] = malloc(40)) = 1;
    puts("ready");
    fflush(stdout);
    while (access(argv[argc - 1], F_OK) != 0) usleep(1000);
    return 0;
}
