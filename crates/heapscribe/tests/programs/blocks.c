/* Blocks of known sizes from known stacks: 40 of 1,000 bytes that stay, 100 of 50 that are freed, 3 of 4,096 that stay.
   The text and the profile of one run are compared with what other programs read of it. */
#include <stdlib.h>
static void *volatile kept[64];
static int n;
__attribute__((noinline)) static void *make(size_t size) { void *p = malloc(size); *(volatile char *)p = 1; return p; }
__attribute__((noinline)) static void keep_many(void) { for (int i = 0; i < 40; i++) kept[n++] = make(1000); }
__attribute__((noinline)) static void keep_few(void) { for (int i = 0; i < 3; i++) kept[n++] = make(4096); }
__attribute__((noinline)) static void churn(void) { for (int i = 0; i < 100; i++) free(make(50)); }
int main(void) { keep_many(); churn(); keep_few(); return n - 43; }
