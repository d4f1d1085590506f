// A heap that only says who asked: loaded behind the recorder (LD_PRELOAD), it forwards every call to libc
// and writes the stack as two others find it: libunwind, step by step and without its caches, and libgcc,
// which throws exceptions by it. libunwind gives up at code that saves vector registers, libgcc at code
// without unwinding information: when one has what the other has and goes on, the longer one is written.
// When they contradict each other that is said. `xtask compare-stacks` holds the recorder's stacks against it.
//
// STACK_ORACLE names the file; STACK_ORACLE_FAST chooses unw_backtrace alone, with its caches. For each call,
// in words of 64 bits: magic | frames << 32, pid << 32 | tid, call | nested << 8 | contradiction << 9, size,
// frames. The calls have the numbers that traces give them.
#define _GNU_SOURCE
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

enum { FRAMES_MAX = 4200, SKIPPED_MAX = 16, FILE_NUMBER_MIN = 700 };
enum { MALLOC, CALLOC, REALLOC, POSIX_MEMALIGN = 4, ALIGNED_ALLOC, MEMALIGN, VALLOC, PVALLOC };
static const uint64_t MAGIC = 0x4b435453, NESTED = 1 << 8, CONTRADICTION = 1 << 9;

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

#define OF_THREAD static __thread __attribute__((tls_model("initial-exec")))
OF_THREAD int is_inside, own_tid;
OF_THREAD void **room; // of frames; stacks of threads and of signals may be too small for it
static int own_pid, file = -1, is_fast;

static void in_child(void) { own_pid = own_tid = 0; }
__attribute__((constructor)) static void begin(void) { pthread_atfork(0, 0, in_child); }

extern char **environ;

// Of the environment that the program began with, not by getenv: bash has one of its own.
static const char *variable(const char *name) {
    size_t length = strlen(name);
    for (char **each = environ; each && *each; each++)
        if (!strncmp(*each, name, length) && (*each)[length] == '=') return *each + length + 1;
    return 0;
}

static char file_name[4096];

static int is_wanted(void) {
    static int answer;
    if (!answer) {
        const char *name = variable("STACK_ORACLE");
        int is_there = name && strlen(name) < sizeof file_name && variable("HEAPSCRIBE_SESSION");
        if (is_there) strcpy(file_name, name);
        is_fast = variable("STACK_ORACLE_FAST") != 0;
        answer = is_there ? 1 : -1;
    }
    return answer > 0;
}

static int open_file(void) {
    unw_set_caching_policy(unw_local_addr_space, is_fast ? UNW_CACHE_PER_THREAD : UNW_CACHE_NONE);
    int opened = open(file_name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    // Out of the way of programs that count on the numbers of their files.
    int moved = fcntl(opened, F_DUPFD_CLOEXEC, FILE_NUMBER_MIN);
    if (moved < 0) return opened;
    close(opened);
    return moved;
}

static void **room_of_thread(void) {
    size_t bytes = 2 * FRAMES_MAX * sizeof *room;
    if (!room) room = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room;
}

static int by_libunwind(void **frames) {
    unw_context_t context;
    unw_cursor_t cursor;
    unw_getcontext(&context);
    if (unw_init_local(&cursor, &context)) return 0;
    int n = 0;
    do {
        unw_word_t ip = 0;
        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) || !ip) break;
        frames[n++] = (void *)ip;
    } while (n < FRAMES_MAX && unw_step(&cursor) > 0);
    return n;
}

typedef struct Walk {
    void **frames;
    int n;
} Walk;

static _Unwind_Reason_Code take(struct _Unwind_Context *context, void *of_walk) {
    Walk *walk = of_walk;
    void *ip = (void *)_Unwind_GetIP(context);
    if (!ip || walk->n == FRAMES_MAX) return _URC_END_OF_STACK;
    walk->frames[walk->n++] = ip;
    return _URC_NO_REASON;
}

static int by_libgcc(void **frames) {
    Walk walk = {frames, 0};
    _Unwind_Backtrace(take, &walk);
    return walk.n;
}

static int is_within(const struct dl_find_object *module, const void *code) {
    return (char *)code >= (char *)module->dlfo_map_start && (char *)code < (char *)module->dlfo_map_end;
}

// Frames of ours and of the recorder, which called us, are nobody's.
static int first_of_program(void **frames, int n, void *recorder) {
    struct dl_find_object own, hooks;
    if (_dl_find_object((void *)first_of_program, &own) || _dl_find_object(recorder, &hooks)) return 0;
    int first = 0;
    while (first < n && first < SKIPPED_MAX && (is_within(&own, frames[first]) || is_within(&hooks, frames[first])))
        first++;
    return first;
}

// The program's frames, in `frames`; how many.
static int walk(void **frames, void *recorder, uint64_t *call) {
    if (is_fast) {
        int all = unw_backtrace(frames, FRAMES_MAX), first = first_of_program(frames, all, recorder);
        memmove(frames, frames + first, (size_t)(all - first) * sizeof *frames);
        return all - first;
    }
    void **other = frames + FRAMES_MAX;
    int n = by_libunwind(frames), m = by_libgcc(other);
    int first = first_of_program(frames, n, recorder), other_first = first_of_program(other, m, recorder);
    n -= first, m -= other_first;
    size_t both = (size_t)(n < m ? n : m) * sizeof *frames;
    if (memcmp(frames + first, other + other_first, both)) *call |= CONTRADICTION;
    if (n >= m) memmove(frames, frames + first, (size_t)n * sizeof *frames);
    else memmove(frames, other + other_first, (size_t)m * sizeof *frames);
    return n >= m ? n : m;
}

static void append(struct iovec *parts) {
    size_t bytes = parts[0].iov_len + parts[1].iov_len;
    for (int tries = 0; tries < 2; tries++) {
        if (file < 0) file = open_file();
        if (file < 0 || writev(file, parts, 2) == (ssize_t)bytes) return;
        file = -1; // the program closed it
    }
}

static void note(uint64_t call, size_t size, void *recorder) {
    if (!is_wanted()) return;
    int kept = errno, n = 0;
    void **frames = room_of_thread();
    if (frames == MAP_FAILED) abort();
    if (!own_pid) own_pid = getpid();
    if (!own_tid) own_tid = (int)syscall(SYS_gettid);
    if (is_inside) {
        call |= NESTED;
    } else {
        is_inside = 1;
        if (file < 0) file = open_file();
        n = walk(frames, recorder, &call);
        is_inside = 0;
    }
    uint64_t head[] = {MAGIC | (uint64_t)n << 32, (uint64_t)own_pid << 32 | (unsigned)own_tid, call, size};
    struct iovec parts[] = {{head, sizeof head}, {frames, (size_t)n * sizeof *frames}};
    append(parts);
    errno = kept;
}

#define NOTE(call, size) note(call, size, __builtin_return_address(0))
#define PAGE 4096

void *malloc(size_t size) {
    NOTE(MALLOC, size);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    size_t all;
    NOTE(CALLOC, __builtin_mul_overflow(count, size, &all) ? SIZE_MAX : all);
    return __libc_calloc(count, size);
}

// One that frees is a free to the recorder, which then asks for no stack.
void *realloc(void *old, size_t size) {
    if (!old || size) NOTE(REALLOC, size);
    return __libc_realloc(old, size);
}

int posix_memalign(void **out, size_t align, size_t size) {
    NOTE(POSIX_MEMALIGN, size);
    if (align % sizeof(void *) || !align || align & (align - 1)) return EINVAL;
    void *block = __libc_memalign(align, size);
    if (block) *out = block;
    return block ? 0 : ENOMEM;
}

void *aligned_alloc(size_t align, size_t size) {
    NOTE(ALIGNED_ALLOC, size);
    return __libc_memalign(align, size);
}

void *memalign(size_t align, size_t size) {
    NOTE(MEMALIGN, size);
    return __libc_memalign(align, size);
}

void *valloc(size_t size) {
    NOTE(VALLOC, size);
    return __libc_memalign(PAGE, size);
}

void *pvalloc(size_t size) {
    NOTE(PVALLOC, size);
    return __libc_memalign(PAGE, (size + PAGE - 1) & -(size_t)PAGE);
}

void free(void *block) { __libc_free(block); }
