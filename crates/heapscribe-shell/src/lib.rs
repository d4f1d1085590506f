//! What stands between a program and a heap that is put under it: the functions of libc, exported by one
//! macro, so that a heap is a library to preload.
//!
//! ```ignore
//! use heapscribe_shell::{Heap, Request, export};
//!
//! struct Bump { /* ... */ }
//! unsafe impl Heap for Bump { /* alloc, free, usable_size */ }
//!
//! export! { static HEAP: Bump = Bump::new(); }
//! ```
//!
//! in a crate with `crate-type = ["cdylib"]` is all that such a library needs. *You bring* a heap that is made
//! at compile time. *It guarantees* that the heap sees sane requests only ([`Request`]), that what is not its
//! own goes to who had it, that forks find it with its locks free, and that it is started once, in the first
//! call that the program makes, wherever that is. *It refuses* to stop a program: a heap that can not start
//! is left out, and the program has the one that it had.
#![no_std]

pub mod export;
mod info;
mod line;
mod only;
pub mod setting;
mod shell;
mod thread;

pub use heapscribe_alloc::front;
pub use heapscribe_alloc::heap::{Heap, Owns};
pub use heapscribe_alloc::request::Request;
pub use heapscribe_alloc::stats::Stats;
pub use heapscribe_alloc::system::SystemHeap;
pub use info::{MallInfo, MallInfo2, info, info2, say_stats};
pub use line::Line;
pub use shell::{Handlers, Shell, Start, errno};
pub use thread::Ends;
