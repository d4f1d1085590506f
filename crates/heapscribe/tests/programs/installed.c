/* What a package of Python has compiled: it keeps what it is asked for, as arrays and tables do. */
#include <stdlib.h>
#include <string.h>

void *new_column(size_t bytes) {
    return memset(malloc(bytes), 1, bytes);
}
