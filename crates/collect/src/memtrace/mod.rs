//! Recording into memtrace files while the programs run, one for each process.
//!
//! The collector sends what it takes out of sessions to a worker thread, which looks names up and writes
//! packets: a program does not wait for names, unless the worker falls behind by a bounded number of chunks. What is
//! in a file is readable at any moment up to the last packet; open packets are written each second.
//!
//! Chunks that are still open are looked into as well, each second, and more often at first: a thread that
//! is sampled may take hours to fill one.
//!
//! Chunks of different threads come in no order of time, and need none: each thread is a domain, whose
//! events are in order by themselves. See [`heapscribe_convert::memtrace::objects`] for frees that come too early.

mod clock;
mod image;
mod message;
mod names;
mod packets;
mod plan;
mod queue;
mod worker;

#[cfg(test)]
mod tests;

pub use plan::{FilesPlan, Written};
pub(crate) use queue::Memtrace;
