// A program with a heap of its own inside, as redis or rustc: the loader binds all calls to it.
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char room[8 << 20];
static size_t used;
void *malloc(size_t n) { size_t at = (used + 31) & ~(size_t)15; used = at + n; return used < sizeof room ? room + at : NULL; }
void free(void *p) {}
void *calloc(size_t n, size_t s) { return malloc(n * s); }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (p && q) memmove(q, p, n < 4096 ? n : 4096); return q; }
int main(void) { for (int i = 0; i < 1000; i++) free(malloc(100)); return write(1, "own heap\n", 9) == 9 ? 0 : 1; }
