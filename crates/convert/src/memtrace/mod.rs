//! Between our traces and OCaml's memtrace. Domains become threads, locations places; what has no counterpart is
//! named where it is lost: [`from`], [`to`].

pub mod from;
mod left_out;
pub mod objects;
mod places;
mod sample_weights;
mod tally;
pub mod to;

#[cfg(test)]
mod tests;

pub use tally::{Sampled, Tally, estimate_bytes};
