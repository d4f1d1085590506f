//! The index as a file: compressed sections, and a directory of them at the end.
//!
//! ```text
//!   header   8 bytes: "HSindex\n"
//!   sections each a zstd frame with its checksum, of columns, see `columns`
//!   directory a section of its own: kind, number, offset, stored bytes, raw bytes
//!   footer   u64 offset of the directory, u64 stored bytes, u64 raw bytes, u64 version, 8 bytes: "HSindex\n"
//! ```
//! All numbers are little endian. What cannot be read is never mended: an index is made again.

mod columns;
mod reader;
mod section;
mod writer;

pub(crate) use columns::Rows;
pub use reader::IndexError;
pub(crate) use reader::SectionReader;
pub(crate) use section::Kind;
pub(crate) use writer::SectionWriter;

/// At the begin and at the end.
const MAGIC: [u8; 8] = *b"HSindex\n";
/// The version of the form of sections; an index of another is made again.
pub const VERSION: u64 = 8;
/// Bytes of the footer.
const FOOTER_BYTES: u64 = 40;
/// Most raw bytes of a section: that of a leaf has some MB, that of a step some ten.
const SECTION_BYTES_MAX: u64 = 1 << 28;
