/* Calls of the heap on stacks that are hardly large enough for them: `small_stacks MODE`. Each stack has a page below
   it that must not be touched. The first call of the process is made there. Says "ok", or with MODE "depth" how many
   bytes each call took: "FUNCTION BYTES", a line each. */
#define _GNU_SOURCE
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define MUST(what) do { if (!(what)) { dprintf(2, "line %d: %s\n", __LINE__, #what); _exit(1); } } while (0)
enum { PAGE = 4096 };

static char *stack_of(size_t size) {
    char *all = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(all != MAP_FAILED && !mprotect(all, PAGE, PROT_NONE));
    return all + PAGE;
}

static void *small, *large;
static void do_nothing(void) {}
static void do_malloc(void) { MUST(small = malloc(100)); }
static void do_large(void) { MUST(large = malloc(200 << 10)); }
static void do_huge(void) { MUST(large = malloc(100 << 20)); }
static void do_calloc(void) { MUST(large = calloc(100, 10)); }
static void do_realloc(void) { MUST(small = realloc(small, 3000)); }
static void do_reallocarray(void) { MUST(small = reallocarray(small, 30, 500)); }
static void do_memalign(void) { MUST(large = memalign(512, 100)); }
static void do_posix_memalign(void) { MUST(!posix_memalign(&large, PAGE, 100)); }
static void do_aligned_alloc(void) { MUST(large = aligned_alloc(64, 128)); }
static void do_usable(void) { MUST(malloc_usable_size(small)); }
static void do_free(void) { free(small); }
static void do_free_large(void) { free(large); }
static void do_many(void) { for (int i = 0; i < 3000; i++) free(malloc(100 + i % 7)); }

static const struct { const char *name; void (*call)(void); } calls[] = {
    {"first malloc", do_malloc}, {"malloc", do_malloc}, {"large malloc", do_large}, {"large free", do_free_large},
    {"calloc", do_calloc}, {"calloc's free", do_free_large}, {"realloc", do_realloc}, {"reallocarray", do_reallocarray},
    {"memalign", do_memalign}, {"memalign's free", do_free_large}, {"posix_memalign", do_posix_memalign},
    {"posix_memalign's free", do_free_large}, {"aligned_alloc", do_aligned_alloc},
    {"aligned_alloc's free", do_free_large}, {"malloc_usable_size", do_usable}, {"free", do_free},
    {"huge malloc", do_huge}, {"huge free", do_free_large}, {"many", do_many},
};
enum { CALLS = sizeof calls / sizeof *calls };

static void do_all(void) { for (int i = 0; i < CALLS; i++) calls[i].call(); }

static ucontext_t here, there;
static void (*call)(void);
static char *entry;
static __attribute__((noinline)) void enter(void) { entry = __builtin_frame_address(0); call(); }

static void on_context(char *stack, size_t size, void (*what)(void)) {
    call = what;
    MUST(!getcontext(&there));
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = size;
    there.uc_link = &here;
    makecontext(&there, enter, 0);
    MUST(!swapcontext(&here, &there));
}

/* What a call takes below its caller. */
static void depth(void) {
    enum { SIZE = 256 << 10, PAINT = 0xa5 };
    char *stack = stack_of(SIZE);
    static size_t bytes[CALLS];
    for (int i = 0; i < CALLS; i++) {
        memset(stack, PAINT, SIZE);
        on_context(stack, SIZE, calls[i].call);
        size_t untouched = 0;
        while (stack[untouched] == (char)PAINT) untouched++;
        bytes[i] = entry - (stack + untouched);
    }
    for (int i = 0; i < CALLS; i++) printf("%s %zu\n", calls[i].name, bytes[i]);
}

static void context(void) { on_context(stack_of(PAGE), PAGE, do_all); }

static void *in_thread(void *unused) { do_all(); return unused; }
static void thread(void) {
    size_t size = sysconf(_SC_THREAD_STACK_MIN) > PTHREAD_STACK_MIN ? sysconf(_SC_THREAD_STACK_MIN) : PTHREAD_STACK_MIN;
    pthread_attr_t attributes;
    pthread_t new;
    MUST(!pthread_attr_init(&attributes) && !pthread_attr_setstack(&attributes, stack_of(size), size));
    MUST(!pthread_create(&new, &attributes, in_thread, NULL) && !pthread_join(new, NULL));
}

static void handler(int number) { (void)number; do_all(); }
static void handle(void) {
    /* What the kernel puts there, whose size depends on the processor, and a page for the handler. */
    size_t least = getauxval(AT_MINSIGSTKSZ) ? getauxval(AT_MINSIGSTKSZ) : 2048;
    size_t size = (least + PAGE + 15) & ~15ul, pages = (size + PAGE - 1) & ~(PAGE - 1ul);
    stack_t stack = {.ss_sp = stack_of(pages), .ss_size = size};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    MUST(!sigaltstack(&stack, NULL) && !sigaction(SIGUSR1, &action, NULL) && !raise(SIGUSR1));
}

int main(int count, char **words) {
    const struct { const char *name; void (*call)(void); } modes[] = {
        {"depth", depth}, {"context", context}, {"thread", thread}, {"signal", handle}, {"all", do_all},
    };
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
        if (count > 1 && !strcmp(words[1], modes[i].name)) {
            modes[i].call();
            return puts("ok") < 0;
        }
    return 2;
}
