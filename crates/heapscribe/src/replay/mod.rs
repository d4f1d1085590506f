//! Traces through other heaps. The events of one process become a program of operations in a file without a
//! name, in the order of time; each heap then runs it in a process of its own, so that no heap sees what another
//! one did, nor what we have allocated.
//!
//! *It guarantees* that a heap which was asked for is the one that was measured: a library that was not loaded, or
//! that has no `malloc`, is an error. *It refuses* traces that do not have every block: samples say how much
//! there was, not what the heap was asked for.
//!
//! ```text
//!   subject   which heaps                      sizing   which pool is enough
//!   chosen    which process of the trace       compare  the heaps side by side, in rounds
//!   prepare   its events -> operations         search   pools that are tried
//!   child     operations -> a heap            text, picture
//! ```

pub(crate) mod child;
pub(crate) mod chosen;
pub(crate) mod compare;
mod picture;
pub(crate) mod prepare;
mod search;
pub(crate) mod sizing;
pub(crate) mod sizing_text;
pub(crate) mod subject;
pub(crate) mod text;

pub(crate) use picture::picture;
