// A program with nothing of its own in it: what its libraries do at start and end is all.
#include <stdio.h>
int main(void) { puts("main"); return 0; }
