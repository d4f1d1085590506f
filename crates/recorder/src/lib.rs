//! The recorder that runs inside the target: which blocks, who asked for them, when they were freed.
//!
//! *You bring* the calls: a hook for each function of the heap, which forwards to [`program::heap`] and then
//! records here what became of the call, with the registers of its caller. *It guarantees* to change nothing
//! that the program can see - no allocation, no errno, no open descriptor, no lock held across its code -
//! and to record less, counted, where it can not record. *It refuses* to wait without end, and to follow
//! a stack beyond its bounds.
//!
//! The pipeline, for a block that was allocated: enter -> capture the stack -> intern it -> room for the
//! event -> live slot -> event, committed. For one that is freed: enter -> clear the live slot -> event.
//!
//! ```text
//!   enter       the one door for hooks; global: the same for a program that is linked statically
//!   lifecycle   a session begins, forks, threads, modules, the end
//!   stack_ids   registers to number      events  room and bytes      snapshot, rules, sampling, modules, program
//!   state       what a session and a thread have, put together
//!   defs        numbers and what they mean      live  the table      log  chunks      unwind   walks
//!   platform    memory, shared files, one lock, time
//! ```
#![cfg_attr(not(test), no_std)]

mod definitions;
mod enter;
mod events;
pub mod global;
mod interpreter;
mod lifecycle;
mod live;
mod log;
mod modules;
mod platform;
pub mod program;
mod real_time_rules;
mod sampling;
mod snapshot;
mod stack_ids;
mod state;
#[cfg(test)]
mod tests;
pub mod unwind;

pub use definitions::bytes_of;
pub use enter::{
    CountsNow, Entered, MappingChange, RemovedBlock, TimedCall, WrittenEvent, begin_exec, counts, enter,
    exec_failed, leave, mapping_ticks, record_took, resume, settle_flags,
};
pub use heapscribe_wire::mode::Mode;
pub use heapscribe_wire::record::{Call, MappingFlags, MappingKind};
pub use lifecycle::{
    Before, NewProgram, ProgramFile, Sandbox, UnrecordedNote, begin_close, deregister_frames, end_close,
    enter_sandbox, leave_sandbox, note_unrecorded, obstacle, program_starts, register_frames,
    take_back_unrecorded,
};
pub use platform::memory::seal;
pub use sampling::{filter, gate};
pub use state::words::{FIRST_GAP_OFFSET, GAP_OFFSET, SECTIONS_OFFSET, SEEN_OFFSET};
pub use state::{Counts, hook_flags};
