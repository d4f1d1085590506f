/* A library that comes and goes: it allocates when it is loaded, used and unloaded. */
#include "parts.h"

static void *kept;
__attribute__((constructor)) static void begin(void) { kept = malloc(1234); }
__attribute__((destructor)) static void end(void) {
    work(10);
    free(kept);
}

unsigned long use(unsigned rounds) {
    char *line = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&line, &size);
    fprintf(file, "%lu", work(rounds));
    fclose(file);
    unsigned long sum = strtoul(line, NULL, 10);
    free(line);
    said("used", 1);
    return sum;
}
