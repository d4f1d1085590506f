// heapscribe.h in a shared library that may have no undefined symbols.
#include "heapscribe.h"

#include <stdlib.h>

void in_library(void) {
    heapscribe_section_begin("library");
    free(malloc(77));
    heapscribe_section_end("library");
}
