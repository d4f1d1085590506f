//! Records to the bytes of a file. An encoder takes all memory that it will ever need when it is made, its
//! codec's too, and keeps it from part to part: between [`Encoder::encode`], [`Encoder::finish`] and
//! [`Encoder::restart`] nothing is allocated. `tests/allocation.rs` counts calls of malloc and holds it to that.
//!
//! | encoder | extension | what a file is |
//! |---|---|---|
//! | [`Plain`] | none | the records |
//! | [`Snappy`] | `.sz` | AOS's framing, or the standard one: chunks of snappy blocks with checksums |
//! | [`Xz`] | `.xz` | an .xz stream with CRC64 |
//! | [`Zstd`] | `.zst` | a skippable frame that names the writer, then a zstd frame; AOS cannot read these |
//!
//! The bytes that wait to be written are one span. When the buffer is full, an encoder takes only a part of a
//! record; the caller writes the span out, clears it, and calls again for the rest.

mod buffer;
mod encoder;
mod lzma;
mod plain;
mod snappy;
mod stream;
mod zstd;

pub use encoder::{EncodeError, Encoder, FLUSH_BYTES, SECTOR};
pub use lzma::Xz;
pub use plain::Plain;
pub use snappy::{Framing, Snappy};
pub use zstd::{MARK, Zstd};
