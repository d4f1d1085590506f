/* Resolves a name, of which libc keeps its configuration. */
#include <netdb.h>
#include <stdio.h>

int main(void) {
    gethostbyname("localhost");
    puts("hello");
    return 0;
}
