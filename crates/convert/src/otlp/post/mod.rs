//! Profiles to a collector: OTLP over HTTP, a POST of the compressed message. What is for a moment only (a collector that
//! restarts, is overloaded or does not answer) is tried again; what a collector refuses is an error with its own words.
//!
//! A message that was taken, but whose answer was lost, is sent again: each profile has the same `profile_id` then.
//!
//! *It refuses* `https`: a collector beside us speaks that to the next one.

mod answer;
mod endpoint;
mod send;

#[cfg(test)]
mod tests;

pub use endpoint::Endpoint;
pub use send::{Failure, Patience, Posted, gzip, post, post_once};
