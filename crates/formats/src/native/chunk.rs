//! The prefix of an events block: the thread and the time of the events. Of fixed size, because it is read for
//! every chunk.

use super::block::CHUNK_PREFIX_BYTES;
use super::columns::Columns;
use super::fields::Fields;
use crate::model::ChunkInfo;

/// Appends the prefix, with no bytes cut.
pub(super) fn put_prefix(out: &mut Vec<u8>, info: &ChunkInfo) {
    out.extend_from_slice(&info.thread.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    let words = [
        info.sequence,
        info.begin_ticks,
        info.begin_mono_ns,
        info.end_ticks,
        info.end_mono_ns,
        info.last_alloc_ticks,
    ];
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

/// Sets the count of cut bytes in a prefix that is written already.
pub(super) fn set_cut(out: &mut [u8], cut_bytes: u32) {
    out[4..8].copy_from_slice(&cut_bytes.to_le_bytes());
}

/// Takes an events block apart: whose, how much was cut, the columns.
pub(super) fn split(payload: &[u8]) -> Option<(ChunkInfo, u32, Columns<'_>)> {
    let mut f = Fields::new(payload);
    let (thread, cut_bytes) = (f.fixed_u32()?, f.fixed_u32()?);
    let info = ChunkInfo {
        thread,
        sequence: f.fixed_u64()?,
        begin_ticks: f.fixed_u64()?,
        begin_mono_ns: f.fixed_u64()?,
        end_ticks: f.fixed_u64()?,
        end_mono_ns: f.fixed_u64()?,
        last_alloc_ticks: f.fixed_u64()?,
    };
    Some((info, cut_bytes, Columns::split(&payload[CHUNK_PREFIX_BYTES..])?))
}
