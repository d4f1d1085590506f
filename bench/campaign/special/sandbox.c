/* Programs that forbid themselves: seccomp in both forms, rights given up. */
#include "parts.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

static __attribute__((noinline)) void new_stack(int depth) {
    if (depth > 0) new_stack(depth - 1);
    free(malloc((size_t)depth * 10 + 1));
}

static void write_and_leave(void) {
    for (int i = 0; i < 50; i++) new_stack(i);
    if (write(1, "done\n", 5) == 5) syscall(SYS_exit, 0);
}

static void strict(int argc, char **argv) {
    fflush(stdout);
    for (int i = 0; i < 100; i++) free(malloc((size_t)i)); /* the heap has what it needs */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) perror("prctl");
    for (int i = 0; i < 50; i++) new_stack(i);
    write_and_leave();
}

/* What the listed calls do not do, `otherwise` answers. */
static void filter(const int *calls, unsigned count, unsigned listed, unsigned otherwise, unsigned flags) {
    struct sock_filter code[64] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned n = 1;
    for (unsigned i = 0; i < count; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    struct sock_fprog program = {(unsigned short)n, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) != 0) perror("seccomp");
}

static const int needed[] = {SYS_write, SYS_exit, SYS_exit_group, SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap,
                             SYS_madvise, SYS_futex};
enum { NEEDED = sizeof needed / sizeof *needed };

static void only_memory(int argc, char **argv) {
    fflush(stdout);
    filter(needed, NEEDED, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, 0);
    for (int i = 0; i < 50; i++) new_stack(i);
    for (int i = 0; i < 2000; i++) free(malloc((size_t)i * 100));
    write_and_leave();
}

static void refused(int argc, char **argv) {
    fflush(stdout);
    filter(needed, NEEDED, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | EPERM, 0);
    for (int i = 0; i < 50; i++) new_stack(i);
    said("open", open("/etc/passwd", O_RDONLY));
    said("work", (long)work(20000));
    said("errno", errno);
}

static void traps(int signal) { write_and_leave(); }
static void trapped(int argc, char **argv) {
    static const int forbidden[] = {SYS_getpid};
    signal(SIGSYS, traps);
    filter(forbidden, 1, SECCOMP_RET_TRAP, SECCOMP_RET_ALLOW, 0);
    said("work", (long)work(5000));
    syscall(SYS_getpid);
}

static void all_threads(int argc, char **argv) {
    static const int forbidden[] = {SYS_openat, SYS_open, SYS_rt_sigprocmask, SYS_socket};
    pthread_t thread = begin_thread(in_thread, (void *)20000, 0);
    filter(forbidden, 4, SECCOMP_RET_ERRNO | EACCES, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC);
    said("thread", (long)end_thread(thread));
    said("work", (long)work(5000));
    said("open", open("/etc/passwd", O_RDONLY));
}

static void not_dumpable(int argc, char **argv) {
    prctl(PR_SET_DUMPABLE, 0);
    said("work", (long)work(5000));
    pid_t child = fork();
    if (child == 0) _exit((int)(work(100) % 50));
    said("code", ended(child));
    said("dumpable", prctl(PR_GET_DUMPABLE));
}

static void in_child(int argc, char **argv) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        filter(needed, NEEDED, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, 0);
        for (int i = 0; i < 50; i++) new_stack(i);
        write_and_leave();
    }
    said("code", ended(child));
}

static const struct part parts[] = {
    {"strict", strict}, {"only_memory", only_memory}, {"refused", refused}, {"trapped", trapped},
    {"all_threads", all_threads}, {"not_dumpable", not_dumpable}, {"in_child", in_child},
};
MAIN(parts)
