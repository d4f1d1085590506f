// A library whose constructor and destructor allocate: the first calls of all and the last ones.
#include "counted.h"

static void some(int n) { for (int i = 0; i < n; i++) { void *p = MALLOC(10 + i); FREE(p); } }

__attribute__((constructor(101))) static void begins(void) { counts_open(); some(123); }
__attribute__((destructor(101))) static void ends(void) { some(45); }
