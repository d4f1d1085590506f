//! Frames of code that an interpreter runs, read in place: CPython's, PHP's ([`php`]) and V8's ([`v8`]).
//!
//! A Python program's stack is `_PyEval_EvalFrameDefault` forty times. Which Python frames each of these calls runs is
//! told by the interpreter's own list of frames, which hangs on the thread's state. It is read without a lock and without
//! a call into the interpreter:
//!
//! ```text
//!   thread pointer -> the key's slot -> thread state -> frame -> frame -> ...      a code object and an instruction each
//!   code object, instruction -> name, file, line                                   when they are met for the first time
//! ```
//! Where everything lies differs between versions ([`layout`]); it is checked on the running interpreter before it is
//! believed ([`check`]), else stacks stay native. A thread that holds the interpreter's lock reads its frames directly:
//! nobody can end the interpreter meanwhile. One that does not, or is in a signal handler, reads them through the kernel,
//! which refuses what is not there ([`read`]).
//!
//! What it refuses: to follow more than a bounded number of frames, and to believe a code object that is being freed.

mod byte_reader;
mod calls;
pub(crate) mod chain;
pub(crate) mod check;
mod code;
pub(crate) mod frozen;
pub(crate) mod functions;
pub(crate) mod layout;
mod lines;
mod lock;
pub(crate) mod lock_release;
mod map;
pub(crate) mod met;
mod offsets;
pub(crate) mod pages;
pub(crate) mod php;
pub(crate) mod possible;
pub(crate) mod raw;
pub(crate) mod read;
mod symbols;
mod text;
pub(crate) mod v8;
mod word_hash;
