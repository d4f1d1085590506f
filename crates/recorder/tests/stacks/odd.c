/* Stacks with frames that no packed rule describes. Built by tests/stacks/mod.rs. */
#include "stacks.c"

#define FUNCTION(name, body) \
    __asm__(".globl " #name "\n.type " #name ", @function\n" #name ": .cfi_startproc\n" body \
            ".cfi_endproc\n.size " #name ", .-" #name "\n")
#define RECURSE " call recurse@PLT\n"

/* CFA = rbx + 16, as in glibc's _dl_runtime_resolve. */
FUNCTION(by_rbx,
    " push %rbx\n .cfi_def_cfa_offset 16\n .cfi_offset %rbx, -16\n"
    " mov %rsp, %rbx\n .cfi_def_cfa_register %rbx\n"
    " sub $200, %rsp\n and $-64, %rsp\n" RECURSE
    " mov %rbx, %rsp\n .cfi_def_cfa_register %rsp\n pop %rbx\n .cfi_def_cfa_offset 8\n ret\n");

/* CFA = [rsp + 152] + 8, as in libcrypto. */
FUNCTION(by_expression,
    " mov %rsp, %rax\n sub $192, %rsp\n and $-64, %rsp\n mov %rax, 152(%rsp)\n"
    " .cfi_escape 0x0f, 6, 0x77, 0x98, 0x01, 0x06, 0x23, 8\n" RECURSE
    " mov 152(%rsp), %rsp\n .cfi_def_cfa %rsp, 8\n ret\n");

/* The return address is in r12, and no longer on the stack. */
FUNCTION(returning_by_r12,
    " push %r12\n .cfi_def_cfa_offset 16\n .cfi_offset %r12, -16\n"
    " mov 8(%rsp), %r12\n .cfi_register %rip, %r12\n movq $77, 8(%rsp)\n"
    RECURSE
    " mov %r12, 8(%rsp)\n .cfi_offset %rip, -8\n"
    " pop %r12\n .cfi_def_cfa_offset 8\n ret\n");

/* The caller of each is a frame by a register that the callee has used, and of which it says that it was
   CFA + 64, by an offset and by an expression. */
#define CALLEE(name, how)                                                                                    \
    FUNCTION(name,                                                                                           \
        " sub $8, %rsp\n .cfi_def_cfa_offset 16\n " how "\n mov $77, %r13d\n" RECURSE                        \
        " add $8, %rsp\n .cfi_def_cfa_offset 8\n lea 72(%rsp), %r13\n ret\n")
CALLEE(callee_by_offset, ".cfi_val_offset %r13, 64");
CALLEE(callee_by_expression, ".cfi_escape 0x16, 13, 3, 0x08, 64, 0x22");
CALLEE(callee_by_saved_word, "mov %r13, (%rsp)\n .cfi_escape 0x10, 13, 3, 0x08, 16, 0x1c");
#define BY_R13(name, callee)                                                                                 \
    FUNCTION(name,                                                                                           \
        " push %r13\n .cfi_def_cfa_offset 16\n .cfi_offset %r13, -16\n"                                      \
        " mov %rsp, %r13\n .cfi_def_cfa_register %r13\n sub $64, %rsp\n call " #callee "@PLT\n"              \
        " mov %r13, %rsp\n .cfi_def_cfa_register %rsp\n pop %r13\n .cfi_def_cfa_offset 8\n ret\n")
BY_R13(restored_by_offset, callee_by_offset);
BY_R13(restored_by_expression, callee_by_expression);
BY_R13(restored_by_saved_word, callee_by_saved_word);

/* Interrupted while the CFA is in a register that no call keeps. */
FUNCTION(interrupted_by_r9, " lea 8(%rsp), %r9\n .cfi_def_cfa %r9, 0\n sub $400, %rsp\n ud2\n");
void interrupted_by_r9(void);

KEEP void at_r9(Hook hook) {
    thread_hook = hook;
    catch(SIGILL, 0);
    if (!sigsetjmp(back, 1)) interrupted_by_r9();
}

/* CFA = r10: no call keeps that, so nobody can say what it was. */
FUNCTION(lost, " mov %rsp, %r10\n .cfi_def_cfa %r10, 8\n sub $8, %rsp\n" RECURSE
               " add $8, %rsp\n .cfi_def_cfa %rsp, 8\n ret\n");

/* Bound at its first call, by a resolver that calls the hook: glibc's _dl_runtime_resolve is on the stack. */
static void bound(void) { sink++; }
static void (*resolve(void))(void) {
    if (thread_hook) recurse(thread_hook, 3);
    return bound;
}
void lazily_bound(void) __attribute__((ifunc("resolve")));

KEEP void through_resolver(Hook hook) {
    thread_hook = hook;
    lazily_bound();
    thread_hook = 0;
}
