//! Apache Arrow's file format (also called Feather, version 2), written by hand for the few types that our tables have:
//! record batches that a reader maps into memory as they are, neither compressed nor with dictionaries.
//!
//! ```text
//!   "ARROW1" 0 0  schema message  record batch...  end of the stream  footer  its length (4 bytes)  "ARROW1"
//!   message       ff ff ff ff  length of the header (4 bytes)  header, a flatbuffer  buffers, each of whole 8 bytes
//! ```

mod flatbuffer;
mod schema;
mod writer;

pub(super) use writer::ArrowWriter;
