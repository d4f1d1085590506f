//! Makes a block of a payload: compresses, checksums, pads, at its final place in the caller's buffer.

use zstd::bulk::Compressor;

use super::block::{BLOCK_HEADER_BYTES, BlockHeader, Codec, Kind};

/// Makes blocks of payloads, with one compression context for all.
#[derive(Default)]
pub(super) struct Packer {
    level: i32,
    compressor: Option<Compressor<'static>>,
}

impl Packer {
    /// Without a compressor (level 0, no memory) blocks are stored as they are.
    pub(super) fn set_level(&mut self, level: i32) {
        if level != self.level {
            self.level = level;
            self.compressor = if level == 0 { None } else { Compressor::new(level).ok() };
        }
    }

    /// Appends a block to `out`: how many bytes.
    pub(super) fn block(
        &mut self,
        kind: Kind,
        process: u32,
        number: u32,
        raw: &[u8],
        out: &mut Vec<u8>,
    ) -> u64 {
        let start = out.len();
        let body = start + BLOCK_HEADER_BYTES;
        out.resize(body + raw.len().next_multiple_of(8), 0);
        let (codec, stored) = match self.compress(kind, raw, &mut out[body..]) {
            Some(n) => (Codec::Zstd, n),
            None => {
                out[body..body + raw.len()].copy_from_slice(raw);
                (Codec::Raw, raw.len())
            }
        };
        let crc = crc32c::crc32c(&out[body..body + stored]);
        let header = BlockHeader {
            kind: kind as u8,
            codec: codec as u8,
            process,
            number,
            raw_bytes: raw.len() as u32,
            stored_bytes: stored as u32,
            crc,
        };
        out[start..body].copy_from_slice(&header.encode());
        let end = body + stored.next_multiple_of(8);
        out[body + stored..end].fill(0);
        out.truncate(end);
        header.file_bytes()
    }

    /// Compresses to `at`; `None` when it is not to be or does not get smaller.
    fn compress(&mut self, kind: Kind, raw: &[u8], at: &mut [u8]) -> Option<usize> {
        if !kind.compresses() {
            return None;
        }
        let n = self.compressor.as_mut()?.compress_to_buffer(raw, at).ok()?;
        (n < raw.len()).then_some(n)
    }
}
