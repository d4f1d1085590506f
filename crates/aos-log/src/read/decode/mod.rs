//! From the bytes of a file to the records in it: plain, snappy in its two framings, xz, zstd. The first bytes
//! determine which, whatever the file is called.
//!
//! Damage is reported after everything that could be unpacked before it.

mod decoder;
mod input;
mod packing;
mod snappy;
mod xz;
mod zstd;

pub(crate) use decoder::Decoder;
pub use packing::{PACKING_BYTES, Packing};

#[cfg(test)]
mod tests;
