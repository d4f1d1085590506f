//! What is worth changing, from an answer: who grows, what was left, what made the peak, what costs calls.
//!
//! Every kind is a file with one pure function over an answer, and a row of thresholds in [`limits`]. Figures are those
//! of the answer; what losses and samples leave of them, and all words, are the business of whoever prints them.

mod arenas;
mod burst;
mod find;
mod finding;
mod foreign_free;
mod growth;
mod judge;
mod late_free;
mod leak;
pub mod limits;
mod long_lived;
mod owners;
mod realloc_growth;
mod resident;
mod resident_excess;
mod rounding;
mod sampling;
mod section;
mod temporary;

pub use self::find::find;
pub use self::finding::{Culprit, Evidence, Finding, Kind, Level, There};
pub use self::judge::bytes_min;
pub use self::long_lived::{LARGE_BYTES, LONG_PERCENT, LongLived, long_lived};
pub use self::owners::Owners;
pub use self::section::is_much_of_one;
