// Says hello, and leaks 1,000 bytes.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    puts("hello");
    return malloc(1000) == NULL;
}
