//! Reading: parts of AOS's loggers and of ours, plain or compressed, whole or not.
//!
//! *You bring* bytes: anything that is [`std::io::Read`]; nothing here opens a file or prints. *It
//! guarantees* that no bytes make it panic, loop or take more memory than [`limits`] says, and that
//! everything that is not as it should be is told with its byte. *It refuses* to guess: where a length is
//! wrong the rest of that part is lost, as it is for AOS's own reader.
//!
//! [`PartReader`] reads one part, [`Parts`] reads several as one: those of a sequence behind each other,
//! ordered by time within the bound that their headers name.
//!
//! What AOS's own reader does and this one does not: read the length of a record from memory that a cut
//! file no longer fills (a file that ends after 1 to 3 bytes of it), and end the program.

pub mod channels;
mod decode;
mod error;
mod flatbuffer;
mod header;
pub mod limits;
mod message;
mod part;
mod parts;
mod sort;

pub use decode::{PACKING_BYTES, Packing};
pub use error::{Damage, Policy, ReadError};
pub use header::{PartHeader, Value};
pub use message::Message;
pub use part::{PartReader, Record};
pub use parts::{Opened, Order, Parts, Problem};
pub use sort::Owned;

/// First bytes of a file that [`detect`] wants to see; fewer are taken of a shorter file.
pub const DETECT_BYTES: usize = 4096;

/// Whether a file with these first bytes is a part: compressed in one of the ways that are known, or with a
/// header or a message as its first record.
pub fn detect(first: &[u8]) -> bool {
    let Some(prefix) = first.first_chunk() else { return false };
    let len = u32::from_le_bytes(*prefix) as usize + flatbuffer::PREFIX_BYTES;
    let begins_a_record = || match first.get(..len) {
        Some(whole) => PartHeader::parse(whole).is_ok() || Message::parse(whole).is_ok(),
        None => len <= limits::RECORD_BYTES_MAX,
    };
    let has_fields =
        |record| flatbuffer::Table::root(record).is_ok_and(|table| table.has_only_inner_fields());
    Packing::of(first) != Packing::Plain || (begins_a_record() && has_fields(&first[..len.min(first.len())]))
}
