// A program in C that loads a C++ runtime: whose operator new is found, before and after.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *when, void *from) {
    Dl_info info;
    void *found = dlsym(from, "_Znwm");
    const char *file = found && dladdr(found, &info) ? strrchr(info.dli_fname, '/') : "nobody's";
    printf("%s: %s\n", when, file);
}

int main(int argc, char **argv) {
    free(malloc(10));
    show("at first", RTLD_DEFAULT);
    void *runtime = dlopen(argc > 1 ? argv[1] : "libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    if (!runtime) return 2;
    show("its own", runtime);
    show("to others", RTLD_DEFAULT);
    runtime = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL);
    show("global", RTLD_DEFAULT);
    void *(*operator_new)(size_t) = (void *(*)(size_t))dlsym(runtime, "_Znwm");
    void (*operator_delete)(void *) = (void (*)(void *))dlsym(runtime, "_ZdlPv");
    for (int i = 0; i < 100; i++) operator_delete(operator_new(100));
    return 7;
}
