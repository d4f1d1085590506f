//! The header of a block, both ways, and the bounds of what it may claim.

use super::header::{is_sealed, seal, u32_at};

/// Bytes of a block header.
pub const BLOCK_HEADER_BYTES: usize = 32;
/// First bytes of a block.
pub const SYNC: [u8; 4] = *b"\xf1hsB";
/// Bytes of a block that is no events block, uncompressed, at most.
pub const BLOCK_BYTES_MAX: usize = 1 << 20;
/// Bytes before the events in an events block.
pub const CHUNK_PREFIX_BYTES: usize = 56;
/// Bytes of an events block, uncompressed, at most.
pub const EVENTS_BYTES_MAX: usize = 256 << 10;

/// The process number of a block that belongs to none.
pub const NO_PROCESS: u32 = u32::MAX;

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// The recording as a whole.
    Session = 1,
    /// A process image.
    Process = 2,
    /// A slice of a process's definitions.
    Definitions = 3,
    /// A chunk of events.
    Events = 4,
    /// Memory samples.
    Memory = 5,
    /// How a process image ended.
    ProcessEnd = 6,
    /// How the recording ended.
    SessionEnd = 7,
    /// Where blocks are.
    Index = 8,
    /// What was live at a moment, but for the blocks.
    Live = 9,
    /// Some of the blocks.
    Blocks = 10,
    /// Sums over the events that a ring evicted.
    Evicted = 11,
    /// Samples of the heap under a process.
    Heap = 12,
    /// What a process had mapped beside a table of live blocks.
    MemoryMap = 13,
    /// Some of its mappings and pages.
    Pages = 14,
    /// Names of code addresses.
    Symbols = 15,
    /// Of what the resident memory of a process was made.
    Resident = 16,
}

impl Kind {
    const ALL: [Kind; 16] = [
        Kind::Session,
        Kind::Process,
        Kind::Definitions,
        Kind::Events,
        Kind::Memory,
        Kind::ProcessEnd,
        Kind::SessionEnd,
        Kind::Index,
        Kind::Live,
        Kind::Blocks,
        Kind::Evicted,
        Kind::Heap,
        Kind::MemoryMap,
        Kind::Pages,
        Kind::Symbols,
        Kind::Resident,
    ];

    /// The kind of this number, if it is one that is known.
    pub fn from_number(n: u8) -> Option<Kind> {
        Kind::ALL.get(usize::from(n).wrapping_sub(1)).copied()
    }

    /// Whether it may be compressed.
    pub(crate) const fn compresses(self) -> bool {
        matches!(
            self,
            Kind::Definitions
                | Kind::Events
                | Kind::Memory
                | Kind::Index
                | Kind::Blocks
                | Kind::Heap
                | Kind::Pages
                | Kind::Symbols
                | Kind::Resident
        )
    }

    /// What to call one that is damaged.
    pub(crate) const fn damaged(self) -> &'static str {
        match self {
            Kind::Session => "damaged session block",
            Kind::Process => "damaged process block",
            Kind::Definitions => "damaged definitions block",
            Kind::Events => "damaged events block",
            Kind::Memory => "damaged memory block",
            Kind::ProcessEnd => "damaged process end block",
            Kind::SessionEnd => "damaged session end block",
            Kind::Index => "damaged index block",
            Kind::Live => "damaged live block",
            Kind::Blocks => "damaged blocks block",
            Kind::Evicted => "damaged block of what was let go",
            Kind::Heap => "damaged heap block",
            Kind::MemoryMap => "damaged memory map block",
            Kind::Pages => "damaged pages block",
            Kind::Symbols => "damaged symbols block",
            Kind::Resident => "damaged block of resident memory",
        }
    }
}

/// How the bytes of a block are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Codec {
    /// As they are.
    Raw = 0,
    /// As one zstd frame.
    Zstd = 1,
}

/// The header of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockHeader {
    /// A [`Kind`] as a number, or one of a later version.
    pub kind: u8,
    /// A [`Codec`] as a number, or one of a later version.
    pub codec: u8,
    /// Number of the process image.
    pub process: u32,
    /// Number of the block in the file.
    pub number: u32,
    /// Bytes of the payload.
    pub raw_bytes: u32,
    /// Bytes of the payload as it is stored.
    pub stored_bytes: u32,
    /// CRC-32C of the stored bytes.
    pub crc: u32,
}

impl BlockHeader {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; BLOCK_HEADER_BYTES] {
        let mut out = [0; BLOCK_HEADER_BYTES];
        out[..4].copy_from_slice(&SYNC);
        out[4] = self.kind;
        out[5] = self.codec;
        let words = [self.process, self.number, self.raw_bytes, self.stored_bytes, self.crc];
        for (i, word) in words.into_iter().enumerate() {
            out[8 + 4 * i..12 + 4 * i].copy_from_slice(&word.to_le_bytes());
        }
        seal(&mut out);
        out
    }

    /// Decodes a header; the error is what is wrong with it.
    ///
    /// # Errors
    /// When it is no header, is damaged, or claims lengths that no block has.
    pub fn decode(bytes: &[u8; BLOCK_HEADER_BYTES]) -> Result<BlockHeader, &'static str> {
        if bytes[..4] != SYNC {
            return Err("no block");
        }
        if !is_sealed(bytes) {
            return Err("damaged block header");
        }
        let header = BlockHeader {
            kind: bytes[4],
            codec: bytes[5],
            process: u32_at(bytes, 8),
            number: u32_at(bytes, 12),
            raw_bytes: u32_at(bytes, 16),
            stored_bytes: u32_at(bytes, 20),
            crc: u32_at(bytes, 24),
        };
        header.check_lengths()?;
        Ok(header)
    }

    fn check_lengths(&self) -> Result<(), &'static str> {
        let events = self.kind == Kind::Events as u8;
        let max = if events { EVENTS_BYTES_MAX } else { BLOCK_BYTES_MAX };
        if self.raw_bytes as usize > max {
            return Err("block longer than blocks are");
        }
        if self.stored_bytes > self.raw_bytes {
            return Err("block that is longer stored than raw");
        }
        Ok(())
    }

    /// Bytes of the block in the file up to the next one.
    pub fn file_bytes(&self) -> u64 {
        BLOCK_HEADER_BYTES as u64 + u64::from(self.stored_bytes).next_multiple_of(8)
    }
}
