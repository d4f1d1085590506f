/* No libc: a program of two system calls, or, when it is linked with the libc, one that calls malloc by hand. */
        .text
#ifndef WITH_LIBC
        .globl _start
_start:
        mov $1, %eax
        mov $1, %edi
        lea text(%rip), %rsi
        mov $5, %edx
        syscall
        mov $60, %eax
        mov $7, %edi
        syscall
#else
        .globl main
/* Neither frame pointer nor unwind information: the stack says nothing of who called. */
main:   push %rbx
        mov $1000, %ebx
1:      mov $100, %edi
        call malloc@PLT
        mov %rax, %rdi
        call free@PLT
        dec %ebx
        jnz 1b
        lea text(%rip), %rdi
        call puts@PLT
        pop %rbx
        xor %eax, %eax
        ret
#endif
        .section .rodata
text:   .asciz "hand\n"
        .section .note.GNU-stack, "", @progbits
