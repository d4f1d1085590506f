//! The ring of `record --ring` and `--last`: where its files are, and how they become one trace.

mod cut;
mod gather;
mod held;
mod layout;
mod past;

pub use cut::Cutoff;
pub use gather::{Gathered, gather, gather_into, gather_with, info_of};
pub use held::Held;
pub use layout::{
    EVENTS, Limits, PAST, PROCESS, RING_BYTES_MIN, SESSION, directory_of, file, is_ring, numbers,
};
pub use past::Past;
