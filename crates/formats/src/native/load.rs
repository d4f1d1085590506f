//! Reads one block: copies, checks and unpacks it into buffers that are reused.

use std::fmt;

use zstd::bulk::Decompressor;

use super::block::{BLOCK_HEADER_BYTES, BlockHeader, Codec, Kind};
use super::columns::DecodeState;
use crate::error::TraceError;
use crate::source::{Source, read_up_to};

/// Buffers for reading, at most about 6 MiB; one for each thread that reads, to be reused.
#[derive(Default)]
pub struct Scratch {
    stored: Vec<u8>,
    raw: Vec<u8>,
    decompressor: Option<Decompressor<'static>>,
    state: DecodeState,
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").field("bytes", &(self.stored.len() + self.raw.len())).finish()
    }
}

/// Reads exactly `at.len()` bytes; fewer are an error.
pub(super) fn read_exact<S: Source>(
    source: &S,
    offset: u64,
    at: &mut [u8],
    cut: &'static str,
) -> Result<(), TraceError> {
    let n = read_up_to(source, offset, at).map_err(|error| TraceError::Io { offset, error })?;
    if n < at.len() { Err(TraceError::Damaged { offset, what: cut }) } else { Ok(()) }
}

/// Reads and checks the header of the block at `offset`.
pub(super) fn read_header<S: Source>(source: &S, offset: u64) -> Result<BlockHeader, TraceError> {
    let mut bytes = [0; BLOCK_HEADER_BYTES];
    read_exact(source, offset, &mut bytes, "the file ends within a block header")?;
    BlockHeader::decode(&bytes).map_err(|what| TraceError::Damaged { offset, what })
}

impl Scratch {
    /// Reads and checks the block at `offset`, which has this header: its payload, unpacked.
    pub(super) fn payload<S: Source>(
        &mut self,
        source: &S,
        offset: u64,
        header: &BlockHeader,
    ) -> Result<&[u8], TraceError> {
        self.stored.resize(header.stored_bytes as usize, 0);
        let start = offset.saturating_add(BLOCK_HEADER_BYTES as u64);
        read_exact(source, start, &mut self.stored, "the file ends within a block")?;
        let what = Kind::from_number(header.kind).map_or("damaged block", Kind::damaged);
        let damaged = TraceError::Damaged { offset, what };
        if crc32c::crc32c(&self.stored) != header.crc {
            return Err(damaged);
        }
        self.unpack(header).ok_or(damaged)
    }

    /// Reads the block at `offset`, which must be of this kind.
    pub(super) fn block<S: Source>(
        &mut self,
        source: &S,
        offset: u64,
        kind: Kind,
    ) -> Result<(BlockHeader, &[u8]), TraceError> {
        let header = read_header(source, offset)?;
        if header.kind != kind as u8 {
            return Err(TraceError::Damaged { offset, what: "block of another kind than the index says" });
        }
        Ok((header, self.payload(source, offset, &header)?))
    }

    /// Reads the events block at `offset`: its header, its payload, and the state for decoding it.
    pub(super) fn chunk<S: Source>(
        &mut self,
        source: &S,
        offset: u64,
    ) -> Result<(BlockHeader, &[u8], &mut DecodeState), TraceError> {
        let (header, _) = self.block(source, offset, Kind::Events)?;
        let (payload, state) = self.unpacked(&header);
        Ok((header, payload, state))
    }

    /// The payload that was read and unpacked last, which is this block's, and the state for decoding it.
    pub(super) fn unpacked(&mut self, header: &BlockHeader) -> (&[u8], &mut DecodeState) {
        let is_raw = header.codec == Codec::Raw as u8;
        (if is_raw { &self.stored } else { &self.raw }, &mut self.state)
    }

    /// The payload that was read last, as it is stored.
    pub(super) fn stored(&self) -> &[u8] {
        &self.stored
    }

    fn unpack(&mut self, header: &BlockHeader) -> Option<&[u8]> {
        let raw_bytes = header.raw_bytes as usize;
        if header.codec == Codec::Raw as u8 {
            return (self.stored.len() == raw_bytes).then_some(&self.stored);
        }
        let may = Kind::from_number(header.kind).is_some_and(Kind::compresses);
        if header.codec != Codec::Zstd as u8 || !may {
            return None;
        }
        if self.decompressor.is_none() {
            self.decompressor = Decompressor::new().ok();
        }
        self.raw.resize(raw_bytes, 0);
        let n = self.decompressor.as_mut()?.decompress_to_buffer(&self.stored, &mut self.raw[..]).ok()?;
        (n == raw_bytes).then_some(&self.raw)
    }
}
