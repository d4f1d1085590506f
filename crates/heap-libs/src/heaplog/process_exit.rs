//! The end of a process, or its exec of another program: then its log is cut to the length of its lines. One that is killed, or does that by a system call of its own, leaves zeros behind them, to the end of a
//! window.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_int};

use heapscribe_nolibc::loader::Loader;
use heapscribe_nolibc::sys;

use super::log;

/// Run by the loader at `exit`.
extern "C" fn at_exit() {
    log::end();
}

#[used]
// SAFETY: the section is an array of functions of this type.
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

/// The function of this name that the program would have called.
fn next(name: &str, own: *const ()) -> Option<*const ()> {
    Loader::discover()?.find_next(name.as_bytes(), own)
}

macro_rules! exit_functions {
    ($($name:ident)*) => {$(
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * Same: as for the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(status: c_int) -> ! {
            type Exit = unsafe extern "C" fn(c_int) -> !;
            log::end();
            match next(stringify!($name), $name as *const ()) {
                // SAFETY: same: it is the C library's function of this name, given the program's argument.
                Some(next) => unsafe { core::mem::transmute::<*const (), Exit>(next)(status) },
                None => sys::exit(status),
            }
        }
    )*};
}

exit_functions! { _exit _Exit quick_exit }

type Text = *const c_char;
type List = *const Text;

macro_rules! exec_functions {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * Same: as for the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            type Exec = unsafe extern "C" fn($($type),*) -> c_int;
            const FAILED: c_int = -1;
            let Some(next) = next(stringify!($name), $name as *const ()) else { return FAILED };
            log::end();
            // SAFETY: same: it is the C library's function of this name, given the program's arguments.
            let result = unsafe { core::mem::transmute::<*const (), Exec>(next)($($argument),*) };
            log::resume();
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
}
