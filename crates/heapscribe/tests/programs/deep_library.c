/* A library that `deep` opens with RTLD_DEEPBIND: its calls bind to libc's functions before those of what was
   preloaded. Blocks go in both directions. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *(*const held_malloc)(size_t) = malloc;
static void (*const held_free)(void *) = free;
static char *kept;

__attribute__((constructor)) static void begin(void) { kept = malloc(3000); }
__attribute__((destructor)) static void end(void) { free(kept); }

void *library_malloc(size_t size) { return malloc(size); }
void library_free(void *block) { free(block); }
void *library_realloc(void *block, size_t size) { return realloc(block, size); }
void *library_held_malloc(size_t size) { return held_malloc(size); }
void library_held_free(void *block) { held_free(block); }
/* libc allocates the copy. */
void library_copy(const char *text) { free(strdup(text)); }
void *library_open(const char *path) { return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND); }
