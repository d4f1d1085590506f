/* Libraries that come and go, and who is asked for malloc. `./plugin.so` is plugin.c. */
#include "parts.h"
#include <dlfcn.h>
#include <link.h>

typedef unsigned long (*use_t)(unsigned);

static unsigned long load(int flags) {
    void *library = dlopen("./plugin.so", flags);
    if (library == NULL) {
        printf("dlopen: %s\n", dlerror());
        return 0;
    }
    use_t use = (use_t)dlsym(library, "use");
    unsigned long sum = use(100);
    dlclose(library);
    return sum;
}

static void come_and_go(int argc, char **argv) {
    unsigned long sum = 0;
    for (int i = 0; i < 200; i++) sum += load(i % 2 ? RTLD_NOW : RTLD_LAZY);
    said("sum", (long)sum);
}

static void *loads(void *unused) {
    unsigned long sum = 0;
    for (int i = 0; i < 50; i++) sum += load(RTLD_NOW) + work(20);
    return (void *)sum;
}
static void from_threads(int argc, char **argv) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) threads[i] = begin_thread(loads, NULL, 0);
    for (int i = 0; i < 4; i++) said("sum", (long)end_thread(threads[i]));
}

static void deep_bound(int argc, char **argv) {
    unsigned long sum = 0;
    for (int i = 0; i < 20; i++) sum += load(RTLD_NOW | RTLD_DEEPBIND);
    said("sum", (long)sum);
}

static void other_namespace(int argc, char **argv) {
    void *library = dlmopen(LM_ID_NEWLM, "./plugin.so", RTLD_NOW);
    if (library == NULL) {
        printf("dlmopen: %s\n", dlerror());
        return;
    }
    said("sum", (long)((use_t)dlsym(library, "use"))(100));
    dlclose(library);
    said("work", (long)work(100));
}

/* Blocks cross from one to the other: one allocates, the other frees. */
static void by_address(int argc, char **argv) {
    void *(*next)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    void *(*first)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
    void (*release)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
    for (size_t i = 0; i < 500; i++) {
        void *a = next(i), *b = first(i);
        free(a);
        release(b);
    }
    said("both are there", next != NULL && first != NULL);
}

/* What the libc finds: the way that getaddrinfo, iconv and NSS load theirs. */
static void the_libcs_own(int argc, char **argv) {
    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*root)(double) = (double (*)(double))dlsym(library, "sqrt");
    said("root", (long)root(49.0));
    dlclose(library);
    said("missing", dlopen("libnot-there.so", RTLD_NOW) == NULL);
    said("message", dlerror() != NULL);
}

static int counts(struct dl_phdr_info *info, size_t size, void *count) {
    free(malloc(size));
    *(long *)count += info->dlpi_phnum > 0;
    return 0;
}
static void listed(int argc, char **argv) {
    long before = 0, with = 0;
    dl_iterate_phdr(counts, &before);
    void *library = dlopen("./plugin.so", RTLD_NOW);
    dl_iterate_phdr(counts, &with);
    said("more", with - before);
    dlclose(library);
}

static void bye(void) { said("bye", (long)work(50)); }
static void last(int code, void *block) {
    said("code", code);
    free(block);
}
static void at_the_end(int argc, char **argv) {
    atexit(bye);
    on_exit(last, malloc(99));
    for (int i = 0; i < 50; i++) atexit(bye);
    exit(7);
}
static void at_quick_end(int argc, char **argv) {
    at_quick_exit(bye);
    atexit(abort);
    quick_exit(8);
}

__attribute__((constructor)) static void early(void) { free(malloc(1000)); }
__attribute__((destructor)) static void late(void) { said("late", (long)work(20)); }

static const struct part parts[] = {
    {"come_and_go", come_and_go}, {"from_threads", from_threads}, {"deep_bound", deep_bound},
    {"other_namespace", other_namespace}, {"by_address", by_address}, {"the_libcs_own", the_libcs_own},
    {"listed", listed}, {"at_the_end", at_the_end}, {"at_quick_end", at_quick_end},
};
MAIN(parts)
