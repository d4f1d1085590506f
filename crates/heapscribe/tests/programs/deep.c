/* Opens libraries with RTLD_DEEPBIND, whose code calls libc's heap where this code calls that in front of it, and frees
   what they allocate, and the other way round: `deep LIBRARY lazy|now [COPY]`. COPY is the same library under another
   name, opened by the first. Says "ok". All is freed but one block of 4,321 bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(what) do { if (!(what)) { dprintf(2, "line %d: %s %s\n", __LINE__, #what, dlerror()); _exit(1); } } while (0)

static void exchange(void *library) {
    void *(*library_malloc)(size_t), (*library_free)(void *), *(*library_realloc)(void *, size_t);
    void *(*held_malloc)(size_t), (*held_free)(void *), (*copy)(const char *);
    MUST(library_malloc = dlsym(library, "library_malloc"));
    MUST(library_free = dlsym(library, "library_free"));
    MUST(library_realloc = dlsym(library, "library_realloc"));
    MUST(held_malloc = dlsym(library, "library_held_malloc"));
    MUST(held_free = dlsym(library, "library_held_free"));
    MUST(copy = dlsym(library, "library_copy"));
    for (int i = 0; i < 100; i++) {
        library_free(malloc(1000 + i));
        free(library_malloc(2000 + i));
        held_free(malloc(100 + i));
        free(held_malloc(200 + i));
        char *block = malloc(50);
        strcpy(block, "contents");
        MUST(block = library_realloc(block, 5000));
        MUST(block = realloc(block, 9000));
        MUST(block = library_realloc(block, 60));
        MUST(!strcmp(block, "contents"));
        free(block);
        copy("some text of this program");
    }
}

int main(int count, char **words) {
    if (count < 3) return 2;
    int when = strcmp(words[2], "now") ? RTLD_LAZY : RTLD_NOW;
    void *library = dlopen(words[1], when | RTLD_LOCAL | RTLD_DEEPBIND), *other = NULL;
    MUST(library);
    exchange(library);
    if (count > 3) {
        void *(*open)(const char *);
        MUST(open = dlsym(library, "library_open"));
        MUST(other = open(words[3]));
        exchange(other);
        MUST(!dlclose(other));
    }
    MUST(!dlclose(library));
    MUST(malloc(4321));
    return puts("ok") < 0;
}
