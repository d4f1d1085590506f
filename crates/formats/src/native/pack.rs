//! Makes a block of a payload: compresses, checksums, pads, at its final place in the caller's buffer.

use std::io;

use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use super::block::{BLOCK_HEADER_BYTES, BlockHeader, Codec, Kind};

/// A column of fewer bytes is compressed together with the next one.
const PIECE_BYTES_MIN: usize = 1 << 10;

/// The bytes of a block before they are compressed.
#[derive(Clone, Copy)]
pub(super) struct Payload<'a> {
    pub(super) raw: &'a [u8],
    /// Where in `raw` each column ends; empty for a payload without columns.
    pub(super) column_ends: &'a [usize],
}

/// Makes blocks of payloads, with one compression context for all.
#[derive(Default)]
pub(super) struct Packer {
    level: i32,
    compressor: Option<Encoder<'static>>,
}

impl Packer {
    /// Without a compressor (level 0, no memory) blocks are stored as they are.
    pub(super) fn set_level(&mut self, level: i32) {
        if level == self.level {
            return;
        }
        self.level = level;
        if level == 0 {
            return; // the compressor is kept for the next level
        }
        let set =
            |encoder: &mut Encoder<'_>| encoder.set_parameter(CParameter::CompressionLevel(level)).is_ok();
        if !self.compressor.as_mut().is_some_and(set) {
            self.compressor = Encoder::new(level).ok();
        }
    }

    /// Appends a block to `out`: how many bytes.
    pub(super) fn block(
        &mut self,
        kind: Kind,
        process: u32,
        number: u32,
        payload: Payload<'_>,
        out: &mut Vec<u8>,
    ) -> u64 {
        let raw = payload.raw;
        let start = out.len();
        let body = start + BLOCK_HEADER_BYTES;
        out.resize(body + raw.len().next_multiple_of(8), 0);
        let (codec, stored) = match self.compress(kind, payload, &mut out[body..]) {
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
    fn compress(&mut self, kind: Kind, payload: Payload<'_>, at: &mut [u8]) -> Option<usize> {
        if self.level == 0 || !kind.compresses() {
            return None;
        }
        let n = frame(self.compressor.as_mut()?, payload, at).ok()?;
        (n < payload.raw.len()).then_some(n)
    }
}

/// One frame, with a zstd block for each column, so that each gets entropy tables of its own.
fn frame(encoder: &mut Encoder<'static>, payload: Payload<'_>, at: &mut [u8]) -> io::Result<usize> {
    let Payload { raw, column_ends } = payload;
    encoder.reinit()?;
    encoder.set_pledged_src_size(Some(raw.len() as u64))?;
    let mut out = OutBuffer::around(at);
    let mut start = 0;
    for &end in column_ends.iter().filter(|end| **end < raw.len()) {
        if end - start >= PIECE_BYTES_MIN {
            piece(encoder, &raw[start..end], &mut out)?;
            if encoder.flush(&mut out)? != 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            start = end;
        }
    }
    piece(encoder, &raw[start..], &mut out)?;
    if encoder.finish(&mut out, true)? != 0 {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(out.pos())
}

fn piece(encoder: &mut Encoder<'static>, bytes: &[u8], out: &mut OutBuffer<'_, [u8]>) -> io::Result<()> {
    let mut input = InBuffer::around(bytes);
    while input.pos() < bytes.len() {
        let before = (input.pos(), out.pos());
        encoder.run(&mut input, out)?;
        if before == (input.pos(), out.pos()) {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}
