/* A JIT compiler's function that calls back, before its unwinding information is registered, while it is, and
   after. It uses rbp, so nothing else leads through it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void __register_frame(void *begin);
void __deregister_frame(void *begin);
void __register_frame_info(void *begin, void *object);
void *__deregister_frame_info(const void *begin);

#define KEEP __attribute__((noinline, noclone))
enum { TIMES = 10 };
static void *volatile kept;

#define LEAF(name) \
    KEEP void name(void) { kept = malloc(24); kept = malloc(48); }
LEAF(before)
LEAF(registered)
LEAF(between)
LEAF(with_object)
LEAF(after)

/* push rbp; mov ebp, 7; sub rsp, 32; call rdi; add rsp, 32; pop rbp; ret */
static const unsigned char code[] = {0x55, 0xbd, 7,    0,    0,    0,  0x48, 0x83, 0xec,
                                     32,   0xff, 0xd7, 0x48, 0x83, 0xc4, 32, 0x5d, 0xc3};
static unsigned char section[] = {
    20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0, 0x0c, 7, 8, 0x90, 1, 0, 0, /* common */
    36, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, sizeof code, 0, 0, 0, 0, 0, 0, 0, 0,   /* entry */
    0x41, 0x0e, 16, 0x86, 2, 0x49, 0x0e, 48, 0x46, 0x0e, 16, 0x41, 0x0e, 8, 0xc6,
    0, 0, 0, 0};

KEEP static void call(void (*function)(void (*)(void)), void (*leaf)(void)) {
    for (volatile int i = 0; i < TIMES; i++) function(leaf);
}

int main(void) {
    void *memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, code, sizeof code);
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    memcpy(section + 32, &memory, sizeof memory);
    void (*function)(void (*)(void)) = (void (*)(void (*)(void)))(uintptr_t)memory;
    static uintptr_t object[8];

    call(function, before);
    __register_frame(section);
    call(function, registered);
    __deregister_frame(section);
    call(function, between);
    __register_frame_info(section, object);
    call(function, with_object);
    printf("object %d\n", __deregister_frame_info(section) == (void *)object);
    call(function, after);
    return 0;
}
