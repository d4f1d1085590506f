//! What stands at each exported name: a look at the gate, two moves and a jump.
//!
//! A hook needs its caller's registers as they are at the call - stack pointer and frame pointer - before
//! any prologue has changed them, so that the walk starts at the caller and never has to get past frames
//! of ours. (Walks that a signal starts in a stub find its unwinding information: nothing is pushed.) The
//! stub adds them behind the arguments and jumps; the body returns to the caller itself.
//!
//! Four stubs leave before that when there is nothing to record, see `heapscribe_recorder::gate`. They use only
//! registers that a call may change, and add nothing to the stack.

/// `rax` = the mode word, `r10` = offset of the thread's words; leaves to `2:` when the thread does not
/// follow this mode.
macro_rules! gate {
    () => {
        "mov rax, qword ptr [rip + {gate}]
         mov r10, qword ptr [rip + heapscribe_thread_words@GOTTPOFF]
         mov rax, qword ptr [rax]
         cmp rax, qword ptr fs:[r10 + {seen}]
         jne 2f"
    };
}

/// Takes `r11` and one from the gap; leaves to `2:`, with the gap as it was, when it is not so large.
macro_rules! gap {
    () => {
        "add r11, 1
         mov rax, qword ptr fs:[r10 + {gap}]
         sub rax, r11
         jb 2f
         mov qword ptr fs:[r10 + {gap}], rax"
    };
}

/// The same for a pool: which block of the heap was the thread's newest stays so.
macro_rules! gap_apart {
    () => {
        "add r11, 1
         mov rax, qword ptr fs:[r10 + {gap}]
         sub rax, r11
         jb 2f
         mov qword ptr fs:[r10 + {gap}], rax
         sub qword ptr fs:[r10 + {first_gap}], r11"
    };
}

/// Leaves to `2:` when `rdi` may be a block that was recorded.
macro_rules! filter {
    () => {
        "mov r11, rdi
         shr r11, 4
         imul r11d, r11d, {factor}
         shr r11d, {shift}
         lea rax, [rip + {filter}]
         cmp byte ptr [rax + r11], 0
         jne 2f"
    };
}

/// Returns to the caller when nothing is recorded; `rax` is the mode word.
macro_rules! off {
    () => {
        "test al, 3
         jne 2f
         ret"
    };
}

/// The same for a section: the ends of those that began while something was recorded enter.
macro_rules! off_without_sections {
    () => {
        "test al, 3
         jne 2f
         cmp qword ptr fs:[r10 + {sections}], 0
         jne 2f
         ret"
    };
}

pub(crate) use {filter, gap, gap_apart, gate, off, off_without_sections};

/// Exports `$name` as a stub that calls `$body` with the caller's stack and frame pointer as the arguments
/// that follow its own `$n`; `$early` are instructions by which it may leave before that. `private` exports nothing.
macro_rules! stub {
    (private $name:ident, $body:path, 1) => {
        stub!(@plain $name, $body, "mov rsi, rsp", "mov rdx, rbp");
    };
    (private $name:ident, $body:path, 2) => {
        stub!(@plain $name, $body, "mov rdx, rsp", "mov rcx, rbp");
    };
    (private $name:ident, $body:path, 3) => {
        stub!(@plain $name, $body, "mov rcx, rsp", "mov r8, rbp");
    };
    ($name:ident, $body:path, 1 $(, $early:expr)?) => {
        stub!(@ $name, $body, "mov rsi, rsp", "mov rdx, rbp" $(, $early)?);
    };
    ($name:ident, $body:path, 2 $(, $early:expr)?) => {
        stub!(@ $name, $body, "mov rdx, rsp", "mov rcx, rbp" $(, $early)?);
    };
    ($name:ident, $body:path, 3 $(, $early:expr)?) => {
        stub!(@ $name, $body, "mov rcx, rsp", "mov r8, rbp" $(, $early)?);
    };
    (@ $name:ident, $body:path, $first:literal, $second:literal, $early:expr) => {
        /// The function of this name, of the C library or of `heapscribe.h`.
        ///
        /// # Safety
        /// * The call is one that a program may make of that function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(".cfi_startproc", "endbr64", $early, "2:", $first, $second, "jmp {body}",
                ".cfi_endproc", "/* {factor} {shift} {filter} {gap} {first_gap} {seen} {sections} {gate} {next} */",
                body = sym $body, gate = sym heapscribe_recorder::gate::GATE,
                filter = sym heapscribe_recorder::filter::FILTER, next = sym heapscribe_recorder::gate::NEXT,
                seen = const heapscribe_recorder::SEEN_OFFSET, gap = const heapscribe_recorder::GAP_OFFSET,
                first_gap = const heapscribe_recorder::FIRST_GAP_OFFSET,
                sections = const heapscribe_recorder::SECTIONS_OFFSET,
                factor = const heapscribe_recorder::filter::FACTOR as i32,
                shift = const heapscribe_recorder::filter::SHIFT)
        }
    };
    (@ $name:ident, $body:path, $first:literal, $second:literal) => {
        stub!(@plain #[unsafe(no_mangle)] $name, $body, $first, $second);
    };
    (@plain $(#[$export:meta])? $name:ident, $body:path, $first:literal, $second:literal) => {
        /// The function of this name, of the C library or of `heapscribe.h`.
        ///
        /// # Safety
        /// * The call is one that a program may make of that function.
        #[unsafe(naked)]
        $(#[$export])?
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(".cfi_startproc", "endbr64", $first, $second, "jmp {body}", ".cfi_endproc",
                body = sym $body)
        }
    };
}

pub(crate) use stub;
