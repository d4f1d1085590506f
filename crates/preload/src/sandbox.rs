//! The calls by which a program gives up rights, `prctl` and `syscall`: the recorder does from then on without what
//! it would be ended for. All else goes straight to the C library, `syscall` by a jump, since what it calls may come
//! back on another stack.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicUsize, Ordering};

use heapscribe_recorder::{Sandbox, enter_sandbox, leave_sandbox, program};

const PRCTL: c_long = 157;
const SECCOMP: c_long = 317;

type Prctl = unsafe extern "C" fn(c_int, usize, usize, usize, usize) -> c_int;
type Syscall = unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;

/// The C library's `syscall`; 0 until it is found.
static NEXT_SYSCALL: AtomicUsize = AtomicUsize::new(0);
/// The C library's `prctl`; 0 until it is found.
static NEXT_PRCTL: AtomicUsize = AtomicUsize::new(0);

fn next(name: &[u8], found: &AtomicUsize) -> usize {
    let known = found.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let next = program::loader().and_then(|loader| loader.find_next(name, next as *const ()));
    let next = next.map_or(0, |next| next as usize);
    found.store(next, Ordering::Relaxed);
    next
}

fn of_prctl(option: c_int, argument: usize, filter: usize) -> Option<Sandbox> {
    const PR_SET_SECCOMP: c_int = 22;
    const PR_SET_TSC: c_int = 26;
    const STRICT: usize = 1;
    const FILTER: usize = 2;
    const PR_TSC_SIGSEGV: usize = 2;
    match (option, argument) {
        (PR_SET_SECCOMP, STRICT) => Some(Sandbox::Strict),
        (PR_SET_SECCOMP, FILTER) => Some(Sandbox::Filter(filter)),
        (PR_SET_TSC, PR_TSC_SIGSEGV) => Some(Sandbox::Clock),
        _ => None,
    }
}

fn of_seccomp(operation: usize, filter: usize) -> Option<Sandbox> {
    const SET_STRICT: usize = 0;
    const SET_FILTER: usize = 1;
    match operation {
        SET_STRICT => Some(Sandbox::Strict),
        SET_FILTER => Some(Sandbox::Filter(filter)),
        _ => None,
    }
}

/// Makes a call by which the program may give up rights. Below 0 it has not.
///
/// # Safety
/// * The sandbox is what the call asks for.
unsafe fn guarded<T: Default + PartialOrd>(sandbox: Option<Sandbox>, call: impl FnOnce() -> T) -> T {
    // SAFETY: a filter's address is what the call gives to the kernel.
    let before = sandbox.map(|sandbox| unsafe { enter_sandbox(sandbox) });
    let result = call();
    if let Some(before) = before.filter(|_| result < T::default()) {
        leave_sandbox(&before);
    }
    result
}

/// The C library's function of this name.
///
/// # Safety
/// * The call is one that a program may make of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    const FAILED: c_int = -1;
    match next(b"prctl", &NEXT_PRCTL) {
        0 => FAILED,
        // SAFETY: the C library's function of this name, given the program's arguments.
        next => unsafe {
            let next = core::mem::transmute::<usize, Prctl>(next);
            guarded(of_prctl(option, a, b), || next(option, a, b, c, d))
        },
    }
}

/// `syscall` of one of the two that matter.
///
/// # Safety
/// * The call is one that a program may make of `syscall`.
unsafe extern "C" fn on_syscall(n: c_long, a: usize, b: usize, c: usize, d: usize, e: usize) -> c_long {
    const FAILED: c_long = -1;
    let sandbox = if n == PRCTL { of_prctl(a as c_int, b, c) } else { of_seccomp(a, c) };
    match find_syscall() {
        0 => FAILED,
        // SAFETY: the C library's function of this name, given the program's arguments.
        next => unsafe {
            let next = core::mem::transmute::<usize, Syscall>(next);
            guarded(sandbox, || next(n, a, b, c, d, e, 0))
        },
    }
}

extern "C" fn find_syscall() -> usize {
    next(b"syscall", &NEXT_SYSCALL)
}

/// The C library's function of this name.
///
/// # Safety
/// * The call is one that a program may make of the C library's function.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "cmp rdi, {prctl}",
        "je {body}",
        "cmp rdi, {seccomp}",
        "je {body}",
        "mov rax, qword ptr [rip + {next}]",
        "test rax, rax",
        "jz 2f",
        "jmp rax",
        "2:",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push r9",
        ".cfi_adjust_cfa_offset 56",
        "call {find}",
        "pop r9",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        ".cfi_adjust_cfa_offset -56",
        "jmp rax",
        ".cfi_endproc",
        prctl = const PRCTL,
        seccomp = const SECCOMP,
        body = sym on_syscall,
        next = sym NEXT_SYSCALL,
        find = sym find_syscall,
    )
}
