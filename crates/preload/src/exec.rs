//! The ways in which a process goes on as another program: noted before, and taken back when it fails. So a process
//! that becomes one without a session - a static one, or one that allocates nothing - is known to have done that,
//! and not taken for killed. One that execs by a system call of its own is.
//!
//! Three have their arguments one by one. Their hooks make the list of them where they lie: the five in registers
//! are pushed behind those on the stack, over the return address, which is kept below.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_int};

use heapscribe_recorder::{begin_exec, exec_failed, program};

type Text = *const c_char;
type List = *const Text;

/// The function of this name that the program would have called.
fn next(name: &str, own: *const ()) -> Option<*const ()> {
    program::loader()?.find_next(name.as_bytes(), own)
}

macro_rules! exec_functions {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * The call is one that a program may make of the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            type Exec = unsafe extern "C" fn($($type),*) -> c_int;
            const FAILED: c_int = -1;
            let Some(next) = next(stringify!($name), $name as *const ()) else { return FAILED };
            begin_exec();
            // SAFETY: the C library's function of this name, given the program's arguments.
            let result = unsafe { core::mem::transmute::<*const (), Exec>(next)($($argument),*) };
            exec_failed();
            result
        }
    )*};
}

exec_functions! {
    execve(path: Text, arguments: List, environment: List);
    execv(path: Text, arguments: List);
    execvp(file: Text, arguments: List);
    execvpe(file: Text, arguments: List, environment: List);
    fexecve(descriptor: c_int, arguments: List, environment: List);
    execveat(directory: c_int, path: Text, arguments: List, environment: List, flags: c_int);
}

/// `execle` with the list of its arguments, behind whose end the environment stands.
///
/// # Safety
/// * The list is that of a call that a program may make of `execle`.
unsafe extern "C" fn execle_of_list(path: Text, arguments: List) -> c_int {
    let mut end = arguments;
    // SAFETY: the list ends with null, and behind that stands the environment.
    unsafe {
        while !(*end).is_null() {
            end = end.add(1);
        }
        execve(path, arguments, *end.add(1).cast::<List>())
    }
}

macro_rules! exec_functions_of_single_arguments {
    ($($name:ident => $body:path;)*) => {$(
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * The call is one that a program may make of the C library's function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "pop r11",
                ".cfi_register 16, 11",
                ".cfi_adjust_cfa_offset -8",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                ".cfi_adjust_cfa_offset 40",
                "mov rsi, rsp",
                "push r11",
                ".cfi_adjust_cfa_offset 8",
                ".cfi_offset 16, -48",
                "call {body}",
                "pop r11",
                ".cfi_register 16, 11",
                ".cfi_adjust_cfa_offset -8",
                "add rsp, 40",
                ".cfi_adjust_cfa_offset -40",
                "push r11",
                ".cfi_adjust_cfa_offset 8",
                ".cfi_offset 16, -8",
                "ret",
                ".cfi_endproc",
                body = sym $body
            )
        }
    )*};
}

exec_functions_of_single_arguments! {
    execl => execv;
    execlp => execvp;
    execle => execle_of_list;
}
