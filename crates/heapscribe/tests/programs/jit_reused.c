/* A JIT compiler that puts three functions at one address, one after the other, and says so: in a dump with times
   (jit-PID.dump), in a perf map (/tmp/perf-PID.map), or in one that nobody can look at meanwhile. It prints the path. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))
typedef void (*Code)(void (*)(void));
static void *volatile kept;
static FILE *file;
static int is_dump, is_hasty;
static Code code;

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const unsigned char bytes[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

KEEP static void leaf(void) { kept = malloc(24); kept = malloc(48); }

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void put(uint64_t value, int size) { fwrite(&value, size, 1, file); }

static void load(const char *name) {
    put(0, 4), put(56 + strlen(name) + 1 + sizeof bytes, 4), put(now(), 8);
    put(getpid(), 4), put(getpid(), 4), put((uintptr_t)code, 8), put((uintptr_t)code, 8), put(sizeof bytes, 8), put(1, 8);
    fwrite(name, strlen(name) + 1, 1, file);
    fwrite(bytes, sizeof bytes, 1, file);
}

/* Each name in the map is looked for after the stacks of the one before it, and before its own. */
static void rest(void) {
    if (!is_dump && !is_hasty) usleep(300000);
}

static void say(const char *name) {
    rest();
    if (is_dump) load(name);
    else fprintf(file, "%lx %zx %s\n", (long)(uintptr_t)code, sizeof bytes, name);
    if (!is_hasty) fflush(file);
    rest();
}

#define CALLER(function) \
    KEEP static void function(void) { code(leaf); kept = malloc(1); }
CALLER(first)
CALLER(second)
CALLER(third)

static void *thread(void *nothing) {
    third();
    return nothing;
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    is_dump = !strcmp(arguments[1], "dump");
    is_hasty = !strcmp(arguments[1], "hasty-map");
    char path[64];
    snprintf(path, sizeof path, is_dump ? "jit-%d.dump" : "/tmp/perf-%d.map", getpid());
    file = fopen(path, "w");
    void *memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, bytes, sizeof bytes);
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    code = (Code)(uintptr_t)memory;
    if (is_dump) put(0x4a695444, 4), put(1, 4), put(40, 4), put(62, 4), put(0, 4), put(getpid(), 4), put(now(), 8), put(0, 8);
    usleep(300000); /* until it is known in which directory this runs */

    say("a");
    first();
    say("b");
    second();
    say("c");
    pthread_t of_third;
    pthread_create(&of_third, 0, thread, 0);
    pthread_join(of_third, 0);
    fclose(file);
    puts(path);
    return 0;
}
