// Loads plug-ins one after the other at one address: plugins racing|alone PLUGIN... With `racing` other
// threads allocate, and load and close another plug-in, at the same time.
#include "counted.h"
#include <dlfcn.h>

static _Atomic int stop;

static void *allocates(void *arg) {
    while (!stop) { void *p = malloc(77); free(p); }
    return NULL;
}

static void *loads(void *path) {
    while (!stop) {
        void *other = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *(*make)(int) = other ? (void *(*)(int))dlsym(other, "make") : NULL;
        if (make) free(make(100000));
        if (other) dlclose(other);
    }
    return NULL;
}

static int visit(const char *path, void **address) {
    void *plug = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plug) { fprintf(stderr, "%s\n", dlerror()); return 0; }
    void *(*make)(int) = (void *(*)(int))dlsym(plug, "make");
    Dl_info info;
    if (!dladdr((void *)make, &info)) return 0;
    int same = *address == NULL || *address == info.dli_fbase;
    *address = info.dli_fbase;
    for (int i = 0; i < 100; i++) memset(make(i), 1, 1000);
    dlclose(plug);
    return same;
}

int main(int argc, char **argv) {
    int racing = strcmp(argv[1], "racing") == 0, same = 1;
    pthread_t t[2];
    void *address = NULL;
    if (racing) {
        pthread_create(&t[0], NULL, allocates, NULL);
        pthread_create(&t[1], NULL, loads, argv[argc - 1]);
        usleep(2000);
    }
    for (int i = 2; i < argc - 1; i++) { same &= visit(argv[i], &address); if (racing) usleep(3000); }
    stop = 1;
    if (racing) { pthread_join(t[0], NULL); pthread_join(t[1], NULL); }
    if (!racing) printf("same address %d\n", same);
    return 0;
}
