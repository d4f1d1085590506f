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

static const struct test_case cases[] = {
    { "work", work }, { "space", space }, { "space_later", space_later }, { "files_1m", files_1m },
    { "files_4k", files_4k }, { "files_0", files_0 }, { "files_later", files_later },
    { "descriptors_16", descriptors_16 }, { "descriptors_4", descriptors_4 },
    { "descriptors_later", descriptors_later }, { "descriptors_before", descriptors_before }, { "stack_64k", stack_64k }, { "locked", locked },
    { "shut_in", shut_in }, { "drops_rights", drops_rights }, { "filtered", filtered }, { 0 },
};

int main(int argc, char **argv) { return run_case(cases, argc, argv); }
