// Functions whose frames no compiler makes: void through_x(void (*call)(Tree *), Tree *tree).
        .text
        .macro BEGIN name
        .globl \name
        .type \name, @function
\name:  .cfi_startproc
        .endm
        .macro END name
        .cfi_endproc
        .size \name, .-\name
        .endm

// The CFA is in rbx.
        BEGIN through_rbx
        push %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        mov %rsp, %rbx
        .cfi_def_cfa_register %rbx
        sub $200, %rsp
        and $-64, %rsp
        mov %rdi, %rax
        mov %rsi, %rdi
        call *%rax
        mov %rbx, %rsp
        .cfi_def_cfa_register %rsp
        pop %rbx
        .cfi_def_cfa_offset 8
        ret
        END through_rbx

// The CFA is what an expression says: the word at rsp + 8, plus 8.
        BEGIN through_expression
        mov %rsp, %rax
        sub $72, %rsp
        .cfi_def_cfa_offset 80
        mov %rax, 8(%rsp)
        .cfi_escape 0x0f, 0x05, 0x77, 0x08, 0x06, 0x23, 0x08
        mov %rdi, %rax
        mov %rsi, %rdi
        call *%rax
        add $72, %rsp
        .cfi_def_cfa %rsp, 8
        ret
        END through_expression

// The return address was put elsewhere and its place used for something else.
        BEGIN through_moved_return
        pop %rax
        .cfi_def_cfa_offset 0
        .cfi_register %rip, %rax
        sub $48, %rsp
        .cfi_def_cfa_offset 48
        mov %rax, 16(%rsp)
        .cfi_offset %rip, -32
        movq $0, 40(%rsp)
        mov %rdi, %rax
        mov %rsi, %rdi
        call *%rax
        mov 16(%rsp), %rax
        .cfi_register %rip, %rax
        add $48, %rsp
        .cfi_def_cfa_offset 0
        push %rax
        .cfi_def_cfa_offset 8
        .cfi_offset %rip, -8
        ret
        END through_moved_return

// The caller's rbp is in r12, which is on the stack; rbp holds rubbish.
        BEGIN through_rbp_in_r12
        push %r12
        .cfi_def_cfa_offset 16
        .cfi_offset %r12, -16
        mov %rbp, %r12
        .cfi_register %rbp, %r12
        mov $0x1230, %ebp
        sub $8, %rsp
        .cfi_def_cfa_offset 24
        sub $8, %rsp
        .cfi_def_cfa_offset 32
        mov %rdi, %rax
        mov %rsi, %rdi
        call *%rax
        add $16, %rsp
        .cfi_def_cfa_offset 16
        mov %r12, %rbp
        .cfi_restore %rbp
        pop %r12
        .cfi_def_cfa_offset 8
        ret
        END through_rbp_in_r12

// Called in the middle of a row of pushes.
        BEGIN through_pushes
        push %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        push %r15
        .cfi_def_cfa_offset 24
        mov %rdi, %rax
        mov %rsi, %rdi
        push %rax
        .cfi_adjust_cfa_offset 8
        push %rdi
        .cfi_adjust_cfa_offset 8
        sub $8, %rsp
        .cfi_adjust_cfa_offset 8
        xor %ebp, %ebp
        call *%rax
        add $24, %rsp
        .cfi_adjust_cfa_offset -24
        pop %r15
        .cfi_def_cfa_offset 16
        pop %rbp
        .cfi_def_cfa_offset 8
        ret
        END through_pushes

// Without any unwinding information, but a frame pointer.
        .globl through_dropped_cfi
        .type through_dropped_cfi, @function
through_dropped_cfi:
        push %rbp
        mov %rsp, %rbp
        sub $32, %rsp
        mov %rdi, %rax
        mov %rsi, %rdi
        call *%rax
        leave
        ret
        .size through_dropped_cfi, .-through_dropped_cfi

        .section .note.GNU-stack,"",@progbits
