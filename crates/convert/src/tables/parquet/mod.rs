//! Apache Parquet, written by hand for the few types that our tables have: pages of format 1, dictionaries, zstd, and the
//! least and the largest value of each column of a row group, so that engines read what a question needs.
//!
//! ```text
//!   "PAR1"  column chunk... (row group after row group)  footer  its length (4 bytes)  "PAR1"
//! ```
//! *It refuses* nothing: what is wrong with a batch is a mistake of ours.

mod hybrid;
mod pages;
mod thrift;
mod writer;

pub(super) use writer::ParquetWriter;
