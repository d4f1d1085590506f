//! Sizes, times and counts as people write and read them: both directions in one place, for every command.
//!
//! ```
//! use heapscribe_units::{bytes, duration, parse_bytes, parse_duration};
//!
//! assert_eq!(bytes(5_000_000), "5,000,000 bytes (4.77 MiB)");
//! assert_eq!(duration(12_345_678), "12.3 ms");
//! assert_eq!(parse_bytes("512MiB"), Ok(512 << 20));
//! assert_eq!(parse_duration("1.5s"), Ok(1_500_000_000)); // ns
//! ```
#![forbid(unsafe_code)]

mod format;
mod locale;
mod parse;

pub use format::{
    bytes, count, counted, date, duration, exact_bytes, percent, percent_cell, plural, short_bytes, time,
    timestamp,
};
pub use locale::{about, plus_minus, use_ascii};
pub use parse::{parse_bytes, parse_duration, parse_percent, parse_rate};
