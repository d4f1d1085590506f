/* Call stacks of all kinds, each with a call of the hook at its end. Built by tests/stacks/mod.rs. */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

typedef void (*Hook)(void);
#define KEEP __attribute__((noinline, noclone))
static volatile int sink;

/* Frames of different sizes, in turn. */
KEEP void recurse(Hook hook, int depth);
#define SIZED(name, size)                                 \
    KEEP static void name(Hook hook, int depth) {         \
        volatile char frame[size];                        \
        frame[0] = (char)depth;                           \
        recurse(hook, depth - 1);                         \
        sink += frame[0];                                 \
    }
SIZED(sized_8, 8)
SIZED(sized_40, 40)
SIZED(sized_200, 200)
SIZED(sized_1000, 1000)

KEEP void recurse(Hook hook, int depth) {
    if (depth <= 0) hook();
    else if (depth % 4 == 0) sized_8(hook, depth);
    else if (depth % 4 == 1) sized_40(hook, depth);
    else if (depth % 4 == 2) sized_200(hook, depth);
    else sized_1000(hook, depth);
    sink++;
}

KEEP void huge_frame(Hook hook) {
    volatile char frame[3 << 20];
    frame[0] = frame[sizeof frame - 1] = 1;
    recurse(hook, 3);
    sink += frame[0];
}

KEEP void variable_frame(Hook hook, int size) {
    volatile char *frame = alloca(size);
    frame[0] = 1;
    recurse(hook, 3);
    sink += frame[0];
}

/* alloca and alignment together make gcc save the CFA and realign. */
KEEP void realigned_frame(Hook hook, int size) {
    volatile char aligned[64] __attribute__((aligned(64)));
    volatile char *frame = alloca(size);
    aligned[0] = frame[0] = 1;
    variable_frame(hook, size);
    sink += aligned[0] + frame[0];
}

static __thread Hook thread_hook;

static int compare(const void *a, const void *b) {
    if (thread_hook) thread_hook(), thread_hook = 0;
    return *(const int *)a - *(const int *)b;
}

KEEP void through_qsort(Hook hook) {
    int numbers[] = {3, 1, 2};
    thread_hook = hook;
    qsort(numbers, 3, sizeof *numbers, compare);
    sink += numbers[0];
}

static sigjmp_buf back;

static void on_signal(int signal, siginfo_t *info, void *context) {
    (void)info, (void)context;
    recurse(thread_hook, 5);
    if (signal == SIGILL) siglongjmp(back, 1);
}

static void catch(int signal, int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(signal, &action, 0);
}

KEEP void in_handler(Hook hook) {
    thread_hook = hook;
    catch(SIGUSR1, 0);
    raise(SIGUSR1);
    sink++;
}

KEEP void on_other_stack(Hook hook) {
    size_t size = 64 << 10;
    stack_t stack = {.ss_sp = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), .ss_size = size};
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&stack, 0);
    thread_hook = hook;
    catch(SIGUSR2, SA_ONSTACK);
    raise(SIGUSR2);
    sigaltstack(&none, 0);
    munmap(stack.ss_sp, size);
}

/* Stopped at the first instruction of a function, before any of its frame is made. */
__attribute__((naked)) static void first_instruction(void) { __asm__("ud2"); }

KEEP void at_first_instruction(Hook hook) {
    thread_hook = hook;
    catch(SIGILL, 0);
    if (!sigsetjmp(back, 1)) first_instruction();
}

/* Stopped after `pop %rbp`: the saved word is below the stack pointer, its rule still there, as gcc does. */
__asm__(".type popped, @function\n"
        "popped: .cfi_startproc\n"
        "push %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset 6, -16\n"
        "mov $77, %ebp\n pop %rbp\n .cfi_def_cfa_offset 8\n ud2\n ret\n"
        ".cfi_endproc\n .size popped, .-popped\n");
void popped(void);

KEEP void at_last_instruction(Hook hook) {
    thread_hook = hook;
    catch(SIGILL, 0);
    if (!sigsetjmp(back, 1)) popped();
}

static void *thread_main(void *hook) {
    recurse((Hook)hook, 10);
    return 0;
}

KEEP void in_thread(Hook hook) {
    pthread_t thread;
    pthread_create(&thread, 0, thread_main, (void *)hook);
    pthread_join(thread, 0);
}

static ucontext_t home, fiber;
static void fiber_main(void) { recurse(thread_hook, 7); }

KEEP void in_fiber(Hook hook) {
    size_t size = 256 << 10;
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fiber.uc_stack.ss_size = size;
    fiber.uc_link = &home;
    thread_hook = hook;
    makecontext(&fiber, fiber_main, 0);
    swapcontext(&home, &fiber);
}
