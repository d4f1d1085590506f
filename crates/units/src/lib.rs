//! Sizes, times and counts as people write and read them: both directions in one place, for every command.
#![forbid(unsafe_code)]

mod format;
mod parse;

pub use format::{bytes, count, counted, date, duration, percent, short_bytes, time};
pub use parse::{parse_bytes, parse_duration, parse_percent, parse_rate};
