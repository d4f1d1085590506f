//! Recognizes a part by its first bytes.

use super::decode::Packing;
use super::header::PartHeader;
use super::message::Message;
use super::{flatbuffer, limits};

/// Bytes from the start of a file that [`detect`] needs; of a shorter file, all of it.
pub const DETECT_BYTES: usize = 4096;

/// Whether a file with these first bytes is a part: compressed in a known format, or with a
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
