//! Replays traces on other heaps. The events of one process become operations in a temporary file, in time
//! order; each heap runs them in a process of its own, so that neither other heaps nor we affect it.
//!
//! *It guarantees* that the requested heap is the one that is measured: a library that is not loaded or has no
//! `malloc` is an error. *It refuses* sampled traces: they do not have every request.
//!
//! ```text
//!   subject   which heaps                      sizing   which pool is enough
//!   chosen    which process of the trace       compare  the heaps side by side, in rounds
//!   prepare   its events -> operations         search   pools that are tried
//!   child     operations -> a heap            advice   settings of the heap side by side
//!   text, picture, advice_text
//! ```

pub(crate) mod advice;
pub(crate) mod advice_text;
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
mod trim;

pub(crate) use picture::picture;
