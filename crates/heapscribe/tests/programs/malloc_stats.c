// Says whose malloc_stats the program has, and so whose heap.
#include <malloc.h>

int main(void) { malloc_stats(); }
