// A plug-in: the same code under different names, so that each lies where the one before lay.
#include <stdlib.h>

void *make(int i) { void *volatile p = malloc(1000 + i); return p; }
const char *name(void) { return NAME; }
