//! The call stack of an allocation, taken in a few nanoseconds a frame.
//!
//! A return address asks one question: where are the caller's return address and frame pointer? The
//! answer is the same each time, so it is worked out once from the module's `.eh_frame` ([`cfi`]), packed
//! into 31 bits ([`rule`]), and cached in a table that all threads share ([`pc_cache`]). A warm walk is
//! one load of a rule and one of a return address for each frame.
//!
//! Most of a stack is the same from one call to the next, so a thread caches its last walk (`cached`) and
//! walks only as far as the first frame that it knows (`incremental`); the hash of a stack is rolled along
//! in the same way ([`path_hash`]).
//!
//! What it refuses: to take a lock, to allocate, to call the C library, to read outside of the stack it
//! was given ([`bounds`]), and to guess silently: frames found by a frame pointer alone are marked.

pub mod all_registers;
pub(crate) mod beyond;
pub mod bounds;
pub(crate) mod cached;
pub(crate) mod cached_path;
pub mod cfi;
pub(crate) mod depth;
mod frame;
pub(crate) mod incremental;
pub(crate) mod new_frame;
pub mod path_hash;
pub mod pc_cache;
pub(crate) mod process_rules;
pub mod registered;
pub mod rule;
mod step;
mod usual_step;
mod walk;

pub use all_registers::full_walk;
pub use bounds::StackRange;
pub use frame::{Context, End, Frame, Place, Registers, Step, Walk};
pub use path_hash::PathHash;
pub use pc_cache::PcCache;
pub use rule::Rule;
pub use walk::Unwinder;
