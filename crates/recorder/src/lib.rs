//! The recorder that runs inside the target: which blocks, who asked for them, when they went.
//!
//! *You bring* the calls: a hook for each function of the heap, which forwards to [`program::heap`] and
//! tells here what came of it, with the registers of its caller. *It guarantees* to change nothing that
//! the program can see - no allocation, no errno, no open descriptor, no lock held across its code -
//! and to record less, counted, where it can not record. *It refuses* to wait without end, and to follow
//! a stack beyond its bounds.
//!
//! The pipeline, for a block that was handed out: enter -> capture the stack -> intern it -> room for the
//! event -> live slot -> event, committed. For one that goes: enter -> take the live slot -> event.
#![cfg_attr(not(test), no_std)]

pub mod capture;
mod clock;
mod counts;
mod define;
mod emit;
mod enter;
pub mod filter;
mod fork;
pub mod gate;
pub mod global;
mod intern;
mod live;
mod lock;
mod log;
mod make;
mod memory;
mod modules;
mod named;
mod names;
pub mod program;
mod regions;
mod rules;
mod sections;
mod session;
mod session_path;
mod shared;
mod stack;
mod stack_bounds;
mod stack_check;
mod thread;
mod tls;
mod walks;
pub mod ways;

pub use counts::{Counts, counts};
pub use enter::{Entered, Taken, Watched, Written, enter, enter_again, took};
pub use heapscribe_nolibc::{loader, sys};
pub use heapscribe_wire::mode::Mode;
pub use heapscribe_wire::record::Call;
pub use modules::begin_close;
pub use names::bytes_of;
pub use tls::{GAP_OFFSET, SECTIONS_OFFSET, SEEN_OFFSET};

/// A `dlclose` has ended: what it took away is forgotten.
pub fn end_close() {
    modules::end_close(program::loader(), session::current());
}

/// The process is about to exit by itself; what is killed never comes here. A child of vfork, in its parent's
/// memory, has another pid than the session and says nothing for it.
pub fn leave() {
    if let Some(session) = session::current()
        && session.pid == sys::pid()
    {
        session.head.leaving.store(1, core::sync::atomic::Ordering::Relaxed);
    }
}

/// Nothing more is allocated by the recorder: for tests that show that the hot path does not.
pub fn seal() {
    memory::seal();
}
