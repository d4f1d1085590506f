//! A trace, entry by entry: what a dump prints, apart from how. [`lines`] is for people and `grep`,
//! [`objects`] for programs, [`memtrace`] for comparing with memtrace's own tools, [`go`] for traces of Go's.

pub mod go;
pub mod lines;
mod mappings;
pub mod memtrace;
pub mod objects;
mod printer;

pub use printer::{Moment, Printer, Rates, Standing};
