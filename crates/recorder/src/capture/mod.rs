//! The call stack of an allocation, taken in a few nanoseconds a frame.
//!
//! A return address asks one question: where are the caller's return address and frame pointer? The
//! answer is the same each time, so it is worked out once from the module's `.eh_frame` ([`cfi`]), packed
//! into 32 bits ([`rule`]), and kept in a table that all threads share ([`pc_cache`]). A warm [`walk`] is
//! one load of a rule and one of a return address for each frame.
//!
//! Most of a stack is the same from one call to the next, so a thread keeps its last walk ([`kept`]) and
//! walks only as far as the first frame that it knows ([`again`]); the hash of a stack is rolled along in
//! the same way ([`path`]).
//!
//! What it refuses: to take a lock, to allocate, to call the C library, to read outside of the stack it
//! was given ([`bounds`]), and to guess silently: frames found by a frame pointer alone are marked.

pub(crate) mod again;
pub mod bounds;
pub mod cfi;
pub mod full;
pub(crate) mod kept;
pub(crate) mod memo;
pub mod path;
pub mod pc_cache;
pub mod registered;
pub mod rule;
pub mod walk;

pub use bounds::StackRange;
pub use full::full_walk;
pub use path::PathHash;
pub use pc_cache::PcCache;
pub use rule::Rule;
pub use walk::{Context, End, Frame, Place, Registers, Step, Unwinder, Walk};
