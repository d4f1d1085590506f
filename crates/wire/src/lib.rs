//! What the recorder inside the target and the program outside agree on, byte by byte.
//!
//! One recorded process is one *session*: a directory of five shared files that the target writes and
//! anybody with the right to read them may read, at any moment, without the target's help.
//!
//! ```text
//!   head   who this is, which clock, what was dropped            one page and strings   [head]
//!   defs   what the numbers in the events mean, append-only      a byte stream          [defs]
//!   live   what is allocated now, a slot per possible block      two-level radix        [live]
//!   log    what happened: chunks of events, each one thread's    headers, then payloads [chunk], [record]
//!   threads  what each thread does and has done to `live`        a record each          [operation]
//! ```
//! Beside it may lie the statistics of the heap under the program, recorded or not ([heap]). Both sides read sizes
//! that people write by one rule ([size]).
//!
//! *You bring* the memory: nothing here maps, opens or allocates. *It guarantees* that what is decoded
//! lies within the bounds of the bytes given, whatever they hold: the other side may write anything at
//! any time, so every reader copies, then checks, then uses. *It refuses* to guess: a byte that makes no
//! sense is an error with its offset.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod call;
pub mod chunk;
pub mod definitions;
pub mod frames_read;
pub mod head;
pub mod heap;
pub mod ids;
pub mod language;
pub mod limits;
pub mod live;
mod loss;
pub mod mode;
pub mod named_snapshot;
pub mod object_allocator;
pub mod operation;
pub mod plan;
pub mod real_time_rules;
pub mod record;
pub mod reserve;
pub mod rule_violation;
pub mod sampler;
pub mod size;
mod sync;
pub mod unrecorded;
pub mod varint;
mod version;

pub use version::ABI_VERSION;
