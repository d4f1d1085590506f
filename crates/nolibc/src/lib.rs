//! System calls, what is loaded, and the environment, for code inside another program, without libc: libc's functions
//! may be the program's own, may take locks that the interrupted thread holds, and change errno.
//!
//! *You bring* nothing. *It guarantees* not to allocate, to take no lock, to keep errno, and that it works
//! from the first call that a program makes, before any constructor. *It refuses* what only libc can do.
//! The recorder and every heap that is put under a program stand on it.
#![cfg_attr(not(test), no_std)]

pub mod at_fork;
pub mod clock;
pub mod deep_open;
pub mod environment;
pub mod imports;
pub mod loader;
pub mod once;
pub mod own_stack;
mod panic;
pub mod seccomp;
pub mod sys;
