//! What is in a session directory, seen from outside: which processes are recorded, whether they live, what is
//! live in them, what they are to record.
//!
//! *You bring* a place to look in, or a base directory that is to be made. *It guarantees* that nothing is followed
//! out of a session (no symlink, no pipe, no other user's directory), that all is copied before it is checked and
//! used, and that a process is held back for a bounded time only. *It refuses* directories that are not this
//! user's own.
#![deny(unsafe_code)]

pub mod always;
pub mod base_directory;
mod clock;
pub mod control;
mod files;
pub mod glibc_heap;
mod head;
pub mod heap_statistics;
pub mod inspect;
pub mod jit;
mod key;
mod liveness;
pub mod mark_request;
mod memory;
pub mod memory_map;
pub mod mode_changes;
mod other_heaps;
pub mod real_time_rules;
mod remote;
mod search_path;
mod unrecorded;

pub use base_directory::{Base, SESSION_DIR};
pub use clock::{clock_kind, counter_and_ns, monotonic_ns, time_stamp_counter};
pub use files::{is_out_of_descriptors, open_file, read_up_to, try_open_file};
pub use head::{is_mapped, process_end, process_info, read_head, read_records};
pub use key::SessionKey;
pub use liveness::{Alive, own_namespace, started_before, wait};
pub use mark_request::MarkRequest;
pub use memory::Memory;
pub use unrecorded::{unrecorded_in_base, unrecorded_in_head};
