//! The ways in which a process exits by itself - the functions of libraries that run at `exit`, and the calls
//! that end it at once - so that one that was killed can be told from it when no drainer is there. A process
//! that ends by a system call of its own, or is killed after this, is taken for what it looks like.
#![allow(unsafe_code)]

use core::ffi::c_int;

use heapscribe_nolibc::sys;
use heapscribe_recorder::{leave, program};

/// Run by the loader at `exit`, and when we are unloaded, which a preloaded library never is.
extern "C" fn at_exit() {
    leave();
}

#[used]
// SAFETY: the section is an array of functions of this type.
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

/// Forwards to the function of this name that the program would have called.
///
/// # Safety
/// * `name` is that of a function with the type of `_exit`.
unsafe fn end(name: &[u8], status: c_int) -> ! {
    type End = unsafe extern "C" fn(c_int) -> !;
    leave();
    match program::loader().and_then(|loader| loader.find_next(name, end as *const ())) {
        // SAFETY: `name` is that of a function with this type.
        Some(next) => unsafe { core::mem::transmute::<*const (), End>(next)(status) },
        None => sys::exit(status),
    }
}

/// The C library's function of this name.
///
/// # Safety
/// * The call is one that a program may make of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    // SAFETY: a function of this name has the type of `_exit`.
    unsafe { end(b"_exit", status) }
}

/// The C library's function of this name.
///
/// # Safety
/// * The call is one that a program may make of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: a function of this name has the type of `_exit`.
    unsafe { end(b"_Exit", status) }
}

/// The C library's function of this name.
///
/// # Safety
/// * The call is one that a program may make of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quick_exit(status: c_int) -> ! {
    // SAFETY: a function of this name has the type of `_exit`.
    unsafe { end(b"quick_exit", status) }
}
