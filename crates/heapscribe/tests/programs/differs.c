/* Holds as many blocks as it is told to from two places: differs KEPT PASSED. The blocks of `passed` are
 * freed at once. */
#include <stdlib.h>

static void *held[100000];

__attribute__((noinline)) void *kept(size_t size) { return malloc(size); }

__attribute__((noinline)) void passed(size_t size)
{
    void *volatile block = malloc(size);
    free(block);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0, m = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 0; i < n; i++)
        held[i] = kept(100);
    for (int i = 0; i < m; i++)
        passed(64);
    return 0;
}
