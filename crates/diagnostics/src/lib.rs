//! What goes wrong, and what its user can do about it.
//!
//! *You bring* the words. *It guarantees* that an error keeps its hint on the way up ([`Problem`]), and that a
//! library reports without printing: a notice goes through the `log` facade, and the program shows it.
#![forbid(unsafe_code)]

mod notice;
mod problem;

pub use notice::{HINT, error, failure, hint, warning};
pub use problem::{Problem, hint_of};
