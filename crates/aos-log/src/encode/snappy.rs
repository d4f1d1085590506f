//! Snappy in frames. Records are collected until there are enough for a chunk; a chunk is compressed at once,
//! into memory that is large enough for the worst case.
//!
//! ```text
//! FF 06 00 00 "sNaPpY"
//! 00 | u24 bytes that follow | u32 masked checksum of the uncompressed bytes | snappy block     (repeated)
//! ```
//!
//! AOS does not split a record: a chunk ends behind the record with which it has 128 KiB, and its checksum is
//! one of its own. The standard requires at most 64 KiB a chunk and CRC-32C, so its readers refuse AOS's
//! files; [`Framing::Standard`] is for those who want to read with them.

use snap::raw::{Encoder as Block, max_compress_len};

use super::buffer::Buffer;
use super::encoder::{EncodeError, Encoder, FLUSH_BYTES};
use crate::checksum::{crc32c, jamcrc, masked};
use crate::pack::Record;

const IDENTIFIER: &[u8; 10] = b"\xff\x06\x00\x00sNaPpY";
/// Type, length and checksum of a chunk.
const CHUNK_HEAD: usize = 8;
/// Most uncompressed bytes of a chunk that the standard allows.
const STANDARD_CHUNK: usize = 64 << 10;
/// Most uncompressed bytes of a chunk: in the worst case its 24 bits of length can still say what comes of it.
const CHUNK_MAX: usize = 13 << 20;
const _: () = assert!(CHUNK_HEAD + 32 + CHUNK_MAX + CHUNK_MAX / 6 < 1 << 24);

/// How chunks are cut and checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// As AOS does: whole records until there are so many bytes (128 KiB there), its own checksum.
    Aos {
        /// Bytes that make a chunk.
        chunk_bytes: usize,
    },
    /// As specified by snappy's framing format: 64 KiB, CRC-32C.
    Standard,
}

/// The encoder of `.sz` files.
pub struct Snappy {
    block: Block,
    framing: Framing,
    input: Buffer,
    output: Buffer,
    /// Bytes of records in the output.
    ready_bytes: usize,
}

impl std::fmt::Debug for Snappy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snappy").field("framing", &self.framing).finish_non_exhaustive()
    }
}

impl Snappy {
    /// An encoder for records of at most `record_bytes_max`.
    ///
    /// In AOS's framing a larger record is cut into several chunks, which AOS reads as well; so is one of more
    /// than 13 MiB, because the length of a chunk has 24 bits.
    pub fn new(framing: Framing, record_bytes_max: usize) -> Result<Self, EncodeError> {
        let capacity = match framing {
            Framing::Aos { chunk_bytes } if chunk_bytes > CHUNK_MAX => {
                return Err(EncodeError { codec: "snappy", code: chunk_bytes as i64 });
            }
            Framing::Aos { chunk_bytes } => {
                let record_bytes_max = record_bytes_max.min(CHUNK_MAX).next_multiple_of(8);
                CHUNK_MAX.min(chunk_bytes.next_multiple_of(8) + record_bytes_max)
            }
            Framing::Standard => STANDARD_CHUNK,
        };
        let bound = CHUNK_HEAD + max_compress_len(capacity);
        let output = Buffer::new(IDENTIFIER.len() + bound);
        let mut encoder =
            Self { block: Block::new(), framing, input: Buffer::new(capacity), output, ready_bytes: 0 };
        encoder.rehearse()?;
        encoder.output.push(IDENTIFIER);
        Ok(encoder)
    }

    /// The crate takes its table when it first meets a large block: let it meet one now.
    fn rehearse(&mut self) -> Result<(), EncodeError> {
        let bytes = [0; 32 << 10];
        let scratch = &mut vec![0; max_compress_len(bytes.len())];
        self.block.compress(&bytes, scratch).map(drop).map_err(|_| EncodeError { codec: "snappy", code: 0 })
    }

    fn chunk_bytes(&self) -> usize {
        match self.framing {
            Framing::Aos { chunk_bytes } => chunk_bytes,
            Framing::Standard => STANDARD_CHUNK,
        }
    }

    /// Where the input has to stop for now.
    fn input_end(&self) -> usize {
        match self.framing {
            Framing::Aos { .. } => self.input.capacity,
            Framing::Standard => STANDARD_CHUNK,
        }
    }

    fn has_room_for_chunk(&self) -> bool {
        self.output.free_bytes() >= CHUNK_HEAD + max_compress_len(self.input.filled)
    }

    /// Compresses what was collected when there is enough of it, or any of it at the end.
    fn compress(&mut self, at_least: usize) -> Result<(), EncodeError> {
        if self.input.filled < at_least || !self.has_room_for_chunk() {
            return Ok(());
        }
        let bytes = self.input.filled();
        let checksum = match self.framing {
            Framing::Aos { .. } => jamcrc(bytes),
            Framing::Standard => crc32c(bytes),
        };
        let chunk = self.output.free();
        let length = self
            .block
            .compress(bytes, &mut chunk[CHUNK_HEAD..])
            .map_err(|_| EncodeError { codec: "snappy", code: 1 })?;
        chunk[..4].copy_from_slice(&(((length + 4) << 8) as u32).to_le_bytes());
        chunk[4..CHUNK_HEAD].copy_from_slice(&masked(checksum).to_le_bytes());
        self.output.fill(CHUNK_HEAD + length);
        self.ready_bytes += self.input.filled;
        self.input.clear();
        Ok(())
    }
}

impl Encoder for Snappy {
    fn has_space(&self, bytes: usize) -> bool {
        // What compresses well would fill the output with megabytes of records, and a killed program would lose them.
        let is_write_due = self.input.filled >= self.chunk_bytes() || self.ready_bytes >= FLUSH_BYTES;
        !is_write_due && bytes <= self.input_end() - self.input.filled
    }

    fn encode(&mut self, record: &mut dyn Record, start: usize) -> Result<usize, EncodeError> {
        let mut at = start;
        while at < record.size() {
            self.compress(self.chunk_bytes())?;
            if self.input.filled >= self.chunk_bytes() {
                break;
            }
            let bytes = (record.size() - at).min(self.input_end() - self.input.filled);
            record.write(&mut self.input.free()[..bytes], at);
            self.input.fill(bytes);
            at += bytes;
        }
        self.compress(self.chunk_bytes())?;
        Ok(at - start)
    }

    fn queue(&self) -> &[u8] {
        self.output.filled()
    }

    fn clear(&mut self) {
        self.ready_bytes = 0;
        self.output.clear();
    }

    fn held_bytes(&self) -> usize {
        self.input.filled
    }

    fn flush(&mut self) -> Result<bool, EncodeError> {
        self.compress(1)?;
        Ok(self.input.filled == 0)
    }

    fn finish(&mut self) -> Result<bool, EncodeError> {
        self.flush()
    }

    fn restart(&mut self) -> Result<(), EncodeError> {
        self.ready_bytes = 0;
        self.input.restart();
        self.output.restart();
        self.output.push(IDENTIFIER);
        Ok(())
    }

    fn total_bytes(&self) -> u64 {
        self.output.total
    }

    fn extension(&self) -> &'static str {
        ".sz"
    }
}
