//! The calling thread, without a system call: by what the C library knows it by.
#![allow(unsafe_code)]

/// The thread pointer: on glibc and musl the thread's control block, which lies at the top of the stack
/// of every thread but the first.
#[inline(always)]
pub(crate) fn thread_pointer() -> usize {
    let address: usize;
    // SAFETY: fs:0 holds the thread pointer itself on x86_64.
    unsafe { core::arch::asm!("mov {0}, qword ptr fs:[0]", out(reg) address, options(pure, nomem, nostack)) };
    address
}
