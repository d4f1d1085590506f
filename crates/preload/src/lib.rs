//! The library that is preloaded into the target: a table of hooks for the heap, those of the unwinder's table,
//! those of a process's end, and what `heapscribe.h` calls. Nothing else.
//!
//! *You bring* a process whose allocation calls bind to the first definition in search order. *It
//! guarantees* the semantics of the heap behind it - every call is forwarded as it is - and imports only
//! what glibc since 2.17 and musl both have, so that it keeps no program from starting. *It refuses* to
//! do anything in a process that was not asked to record.
//!
//! ```text
//!   hooks, operators, api       what is exported: a stub each, and its body
//!   libc_hooks                  the same for calls that pass the heap behind us
//!   forward                     alloc, resize, free, shared by the bodies; flagged: the same where calls are timed or ruled
//!   mappings                    memory of the program's own, past the heap
//!   start                       what is done when the program starts
//!   register_frame, exit, exec, sandbox, dlopen    calls that are not of the heap
//! ```
#![no_std]
// The hooks are exported to the dynamic linker, not to other crates.
#![allow(unreachable_pub, reason = "`no_mangle` functions in private modules")]

mod api;
mod call;
#[cfg_attr(test, allow(dead_code, reason = "exported outside of tests only"))]
mod dlopen;
mod exec;
mod exit;
mod forward;
mod hooks;
#[cfg_attr(test, allow(dead_code, reason = "used by `dlopen`"))]
mod libc_hooks;
#[cfg_attr(test, allow(dead_code, reason = "exported outside of tests only"))]
mod mappings;
mod operators;
mod register_frame;
mod resized;
mod sandbox;
mod slow_hooks;
mod start;
mod stub;

#[cfg(not(test))]
heapscribe_nolibc::end_on_panic!();
#[cfg(not(test))]
heapscribe_nolibc::import_weakly!();
