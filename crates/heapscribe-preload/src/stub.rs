//! What stands at each exported name: two moves and a jump.
//!
//! A hook needs its caller's registers as they are at the call - stack pointer and frame pointer - before
//! any prologue has changed them, so that the walk starts at the caller and never has to get past frames
//! of ours. (Walks that a signal starts in a stub find its unwinding information: nothing is pushed.) The
//! stub adds them behind the arguments and jumps; the body returns to the caller itself.

/// Exports `$name` as a stub that calls `$body` with the caller's stack and frame pointer as the arguments
/// that follow its own `$n`.
macro_rules! stub {
    ($name:ident, $body:path, 1) => {
        stub!(@ $name, $body, "mov rsi, rsp", "mov rdx, rbp");
    };
    ($name:ident, $body:path, 2) => {
        stub!(@ $name, $body, "mov rdx, rsp", "mov rcx, rbp");
    };
    ($name:ident, $body:path, 3) => {
        stub!(@ $name, $body, "mov rcx, rsp", "mov r8, rbp");
    };
    (@ $name:ident, $body:path, $first:literal, $second:literal) => {
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * As for the C library's function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(".cfi_startproc", "endbr64", $first, $second, "jmp {body}", ".cfi_endproc",
                body = sym $body)
        }
    };
}

pub(crate) use stub;
