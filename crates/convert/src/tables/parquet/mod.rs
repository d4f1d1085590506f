//! Apache Parquet, written by hand for the few types that our tables have: pages of format 1, dictionaries, zstd, and the
//! least and the largest value of each column of a row group, so that engines read what a question needs.
//!
//! ```text
//!   "PAR1"  column chunk... (row group after row group)  footer  its length (4 bytes)  "PAR1"
//! ```
//! What is read ([`ParquetFile`]) may come from anybody: every length is checked, and errors say at which byte. *It
//! refuses* encodings and codecs that neither we nor engines write for such columns: delta encodings, Snappy, LZ4, Brotli.

mod column;
mod fields;
mod footer;
mod hybrid;
mod pages;
mod thrift;
mod writer;

use std::fmt;

pub(super) use column::Entries;
pub(super) use footer::{ParquetFile, RowGroup};
pub(super) use writer::ParquetWriter;

/// What is wrong with a file, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Malformed {
    what: String,
    offset: u64,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at byte {}", self.what, self.offset)
    }
}

impl std::error::Error for Malformed {}
