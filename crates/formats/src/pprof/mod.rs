//! pprof's profiles, `profile.proto`: protocol buffers, unpacked (files are gzip mostly).
//!
//! ```text
//!   1 sample_type     {1 type, 2 unit}                      what the values of each sample are
//!   2 sample          {1 locations, leaf first, 2 values, 3 labels}
//!   3 mapping         {1 id, 2 begin, 3 end, 4 offset in the file, 5 file, 6 build id}
//!   4 location        {1 id, 2 mapping, 3 address, 4 line {1 function, 2 line}}, inlined functions first
//!   5 function        {1 id, 2 name, 4 file}
//!   6 texts, by their position; the first is empty
//!   9 time, 10 duration, ns       11 kind of the period, 12 period
//! ```
//! Of the kinds those are taken that heaps have: `inuse_space`, `inuse_objects`, `alloc_space`, `alloc_objects`, and the
//! shorter names of other writers. Each sample says its own stack, so equal ones are added up.
//!
//! *Lost in reading*: labels, so that the samples of threads and processes are one sum; kinds of other figures.

mod fields;
mod kinds;
mod read;
mod tables;

pub use read::{is_begin, read};

#[cfg(test)]
mod tests;
