// Programs under limits, with fewer rights than they began with, or shut in.
#include "counted.h"
#include <grp.h>
#include <stddef.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void some(int n) {
    for (int i = 0; i < n; i++) { void *p = MALLOC(10 + i % 900); p = REALLOC(p, 100 + i % 900); FREE(p); }
}

static void limit(int what, rlim_t to) {
    struct rlimit r = { to, to };
    if (setrlimit(what, &r)) { perror("setrlimit"); exit(97); }
}

static int in_child(int n) {
    int status = 0;
    fflush(stdout);
    if (fork() == 0) { some(n); _exit(0); }
    wait(&status);
    return status;
}

// Work that stays well inside the limits, in this image and in a child.
static int work(int argc, char **argv) {
    void *big[24];
    int got = 0;
    some(30000);
    for (int i = 0; i < 24; i++) { big[i] = MALLOC(1 << 20); if (big[i]) { memset(big[i], 1, 1 << 20); got++; } }
    for (int i = 0; i < 24; i++) FREE(big[i]);
    int status = in_child(1000);
    printf("%d blocks, child %d\n", got, status);
    return 0;
}

static int again(char **argv) { fflush(stdout); execl("/proc/self/exe", argv[0], "work", (char *)NULL); return 99; }

static int space(int argc, char **argv) { limit(RLIMIT_AS, (rlim_t)256 << 20); return again(argv); }
static int space_later(int argc, char **argv) { some(10); limit(RLIMIT_AS, 1 << 20); some(100); in_child(10); puts("ok"); return 0; }
static int files_1m(int argc, char **argv) { limit(RLIMIT_FSIZE, 1 << 20); return again(argv); }
static int files_4k(int argc, char **argv) { limit(RLIMIT_FSIZE, 4096); return again(argv); }
static int files_0(int argc, char **argv) { limit(RLIMIT_FSIZE, 0); return again(argv); }
static int files_later(int argc, char **argv) { some(10); limit(RLIMIT_FSIZE, 4096); return work(argc, argv); }
static int descriptors_16(int argc, char **argv) { limit(RLIMIT_NOFILE, 16); return again(argv); }
static int descriptors_4(int argc, char **argv) { limit(RLIMIT_NOFILE, 4); return again(argv); }
static int descriptors_later(int argc, char **argv) { some(10); limit(RLIMIT_NOFILE, 3); return work(argc, argv); }
// No descriptor is left when the first block of all is asked for.
static int descriptors_before(int argc, char **argv) { limit(RLIMIT_NOFILE, 3); return work(argc, argv); }
static int stack_64k(int argc, char **argv) { limit(RLIMIT_STACK, 64 << 10); return again(argv); }

static int locked(int argc, char **argv) {
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) return 90;
    return work(argc, argv);
}

// Memory that is to be locked, and so much of it that the live table has more than one window. Killed, so that the
// table stays.
static int locked_windows(int argc, char **argv) {
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) return 90;
    for (int i = 0; i < 150000; i++) MALLOC(1000);
    raise(SIGKILL);
    return 91;
}

static int shut_in(int argc, char **argv) {
    some(10);
    if (chroot(getenv("SHUT_IN")) || chdir("/")) return 90;
    return work(argc, argv);
}

static int drops_rights(int argc, char **argv) {
    some(10);
    if (setgroups(0, NULL) || setgid(65534) || setuid(65534)) return 90;
    return work(argc, argv);
}

// A filter that refuses what servers refuse themselves after their start: nothing may be opened or mapped
// for others, and no limits asked for.
static int filtered(int argc, char **argv) {
#define REFUSE(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(openat), REFUSE(open), REFUSE(mkdirat), REFUSE(madvise), REFUSE(prlimit64), REFUSE(tgkill),
        REFUSE(kill), REFUSE(readlink), REFUSE(readlinkat), REFUSE(prctl), REFUSE(gettid), REFUSE(clock_gettime),
        REFUSE(ftruncate), REFUSE(rt_sigprocmask), REFUSE(nanosleep), REFUSE(clock_nanosleep),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    some(10);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 90;
    some(20000);
    printf("child %d\n", in_child(100));
    return 0;
}

static void install(const struct sock_fprog *program, int by_syscall) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long failed = by_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program)
                             : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
    if (failed) _exit(90);
}

#define FORBID(name, how) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, how)

static int many(void) {
    for (int i = 0; i < 100; i++) some(200); // from one place after the other
    for (int i = 0; i < 20; i++) { void *p = MALLOC(5000 + i); FREE(p); }
    void *deeper = CALLOC(10, 10);
    FREE(deeper);
    return write(1, "survived\n", 9) != 9;
}

// A filter that ends the program for what it will not do itself any more, without a word; and one argument of a call
// that it may make otherwise.
static int killed_for(int by_syscall) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        FORBID(openat, SECCOMP_RET_KILL_PROCESS), FORBID(open, SECCOMP_RET_KILL_PROCESS),
        FORBID(rt_sigprocmask, SECCOMP_RET_KILL_PROCESS), FORBID(nanosleep, SECCOMP_RET_KILL_PROCESS),
        FORBID(mprotect, SECCOMP_RET_KILL_PROCESS), FORBID(tgkill, SECCOMP_RET_TRAP), FORBID(statfs, SECCOMP_RET_TRAP),
        FORBID(getpid, SECCOMP_RET_KILL_THREAD), FORBID(gettid, SECCOMP_RET_KILL_PROCESS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_DONTNEED, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    some(1000);
    install(&program, by_syscall);
    _exit(many());
}

static int killed_by_prctl(int argc, char **argv) { return killed_for(0); }
static int killed_by_syscall(int argc, char **argv) { return killed_for(1); }

// Nothing but read, write and exit: not even the clock.
static int strict(int argc, char **argv) {
    some(1000);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return 90;
    syscall(SYS_exit, many());
    return 91;
}

static int no_clock(int argc, char **argv) {
    some(10);
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) return 90;
    _exit(many());
}

// What can not be had leaves the program as it was.
static int filter_that_fails(int argc, char **argv) {
    struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
    struct sock_fprog program = { 1, code }, empty = { 0, code };
    some(10);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &empty) != -1 || errno != EINVAL) return 90;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)8) != -1 || errno != EFAULT) return 91;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, ~0u, &program) != -1 || errno != EINVAL) return 92;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) != -1 || errno != EINVAL) return 93;
    return many();
}

// How many signal masks are set while nothing of the program sets any.
static _Atomic int masks;
static void on_mask(int signal, siginfo_t *info, void *context) { masks++; }

static int counts_masks(int argc, char **argv) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        FORBID(rt_sigprocmask, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    struct sigaction action = { .sa_sigaction = on_mask, .sa_flags = SA_SIGINFO };
    some(10);
    sigaction(SIGSYS, &action, NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    // By instruction: what the recorder does is to be seen, not what it does after it has seen the filter.
    long result;
    register long c asm("r10") = 0;
    asm volatile("syscall" : "=a"(result) : "a"(SYS_prctl), "D"(PR_SET_SECCOMP), "S"(SECCOMP_MODE_FILTER),
                 "d"(&program), "r"(c) : "rcx", "r11", "memory");
    if (result) return 90;
    some(1000);
    printf("%d masks\n", masks);
    return 0;
}
static int files_4k_masks(int argc, char **argv) {
    limit(RLIMIT_FSIZE, 4096);
    fflush(stdout);
    execl("/proc/self/exe", argv[0], "counts_masks", (char *)NULL);
    return 99;
}

static const struct test_case cases[] = {
    { "killed_by_prctl", killed_by_prctl }, { "killed_by_syscall", killed_by_syscall }, { "strict", strict },
    { "no_clock", no_clock }, { "filter_that_fails", filter_that_fails }, { "counts_masks", counts_masks },
    { "files_4k_masks", files_4k_masks }, { "locked_windows", locked_windows },
    { "work", work }, { "space", space }, { "space_later", space_later }, { "files_1m", files_1m },
    { "files_4k", files_4k }, { "files_0", files_0 }, { "files_later", files_later },
    { "descriptors_16", descriptors_16 }, { "descriptors_4", descriptors_4 },
    { "descriptors_later", descriptors_later }, { "descriptors_before", descriptors_before }, { "stack_64k", stack_64k }, { "locked", locked },
    { "shut_in", shut_in }, { "drops_rights", drops_rights }, { "filtered", filtered }, { 0 },
};

int main(int argc, char **argv) { return run_case(cases, argc, argv); }
