// Code that comes and goes: plug-ins at one address, a library bound while it runs, generated code.
// Arguments: part, first plug-in, second plug-in, library, library that it needs.
#define _GNU_SOURCE
#include "stacks_shapes.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void Call(Tree *);
static char **files;

KEEP void from_plugin(Tree *t) {
    block(t, 2500);
    t->calls = 2;
    step(t, 3);
}

static void use_plugin(Tree *t, const char *file, int depth) {
    void *plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    void (*enter)(Call *, Tree *, int) = (void (*)(Call *, Tree *, int))dlsym(plugin, "enter");
    t->sum = t->sum * 31 + (plugin != 0);
    enter(from_plugin, t, depth);
    dlclose(plugin);
}

static uint64_t plugins(void) {
    Tree t = {1, 0, 0, 0};
    for (int round = 0; round < 80; round++) use_plugin(&t, files[round % 2], 3 + round % 4);
    return t.sum;
}

static atomic_int ends;

static void *allocates(void *seed) {
    Tree t = {(uintptr_t)seed, 0, 0, 0};
    while (!atomic_load(&ends)) {
        t.calls = 5;
        step(&t, 9);
    }
    return 0;
}

// The same while another thread allocates.
static uint64_t plugins_in_a_race(void) {
    pthread_t thread;
    pthread_create(&thread, 0, allocates, (void *)5);
    uint64_t sum = plugins();
    atomic_store(&ends, 1);
    pthread_join(thread, 0);
    return sum;
}

// The first call of a function of another library goes through the loader, which may allocate there.
KEEP uint64_t bind_now(Tree *t) {
    void *needed = dlopen(files[3], RTLD_LAZY | RTLD_GLOBAL), *library = dlopen(files[2], RTLD_LAZY);
    void (*calls_other)(Call *, Tree *) = (void (*)(Call *, Tree *))dlsym(library, "calls_other");
    calls_other(from_plugin, t);
    calls_other(from_plugin, t);
    dlclose(library);
    dlclose(needed);
    return t->sum;
}

static uint64_t lazy_binding(void) {
    Tree t = {2, 0, 0, 0};
    for (int round = 0; round < 5; round++) t.sum += bind_now(&t);
    return t.sum;
}

KEEP void from_generated(Tree *t) {
    block(t, 3000 + (t->calls == 500 ? 500 : t->calls % 2));
    unsigned kept = t->calls;
    t->calls = 2;
    step(t, 5);
    t->calls = kept;
}

// Calls rdi(rsi), nested once more by the address in rdx: with and without a frame pointer.
static const unsigned char WITH_POINTER[] = {
    0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
static const unsigned char WITHOUT[] = {
    0x48, 0x83, 0xec, 0x28, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x28, 0xc3};

KEEP void through_generated(Tree *t, unsigned char *page, int with_pointer) {
    volatile char frame[64];
    frame[0] = 1;
    memcpy(page, with_pointer ? WITH_POINTER : WITHOUT, with_pointer ? sizeof WITH_POINTER : sizeof WITHOUT);
    ((void (*)(Call *, Tree *))page)(from_generated, t);
    t->sum += (uint64_t)frame[0];
}

// Called from a frame with a frame pointer, code without one looks as if it were that frame: a guess by rbp
// passes over the function that really called.
KEEP __attribute__((optimize("no-omit-frame-pointer"))) void passed_over(Tree *t, unsigned char *page) {
    volatile char frame[64];
    frame[0] = 1;
    memcpy(page, WITHOUT, sizeof WITHOUT);
    ((void (*)(Call *, Tree *))page)(from_generated, t);
    t->sum += (uint64_t)frame[0];
}

static uint64_t generated_code(void) {
    Tree t = {3, 0, 0, 0};
    for (int round = 0; round < 40; round++) {
        unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (t.calls = 0; t.calls < 4; t.calls++) through_generated(&t, page, t.calls % 2);
        t.calls = 500;
        passed_over(&t, page);
        munmap(page, 4096);
    }
    return t.sum;
}

int main(int count, char **arguments) {
    (void)count;
    static const Part parts[] = {
        {"plugins", plugins}, {"plugins_in_a_race", plugins_in_a_race}, {"lazy_binding", lazy_binding},
        {"generated_code", generated_code}, {0, 0},
    };
    files = arguments + 2;
    return run_part(parts, arguments[1]);
}
