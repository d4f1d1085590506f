//! The header of a trace file, by which it is recognized, and the footer, which is there when it is complete.

use heapscribe_wire::ABI_VERSION;

use crate::error::TraceError;

/// First bytes of a trace. No text, and damaged by transfers that take it for one.
pub const MAGIC: [u8; 8] = *b"\x89HSCR\r\n\x1a";
/// Major version: readers refuse later ones.
pub const MAJOR: u16 = 1;
/// Minor version: readers pass over what later ones added.
pub const MINOR: u16 = 3;
/// The first version of the wire format whose definitions are read as they are now.
const ABI_MIN: u32 = 2;
/// Bytes of the file header.
pub const HEADER_BYTES: usize = 32;
/// Bytes of the footer.
pub const FOOTER_BYTES: usize = 32;

const FOOTER_MAGIC: [u8; 8] = *b"HSCREND\n";

/// Whether bytes begin as a trace does.
pub fn is_begin(first: &[u8]) -> bool {
    first.starts_with(&MAGIC)
}

pub(crate) fn u32_at(bytes: &[u8; 32], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn u64_at(bytes: &[u8; 32], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Puts the CRC of the first 28 bytes into the last 4.
pub(crate) fn seal(bytes: &mut [u8; 32]) {
    let crc = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&crc.to_le_bytes());
}

/// Whether the last 4 bytes are the CRC of the first 28.
pub(crate) fn is_sealed(bytes: &[u8; 32]) -> bool {
    u32_at(bytes, 28) == crc32c::crc32c(&bytes[..28])
}

/// The header of a file that was started at this time.
pub(crate) fn file_header(started_real_ns: u64) -> [u8; HEADER_BYTES] {
    let mut out = [0; HEADER_BYTES];
    out[..8].copy_from_slice(&MAGIC);
    out[8..10].copy_from_slice(&MAJOR.to_le_bytes());
    out[10..12].copy_from_slice(&MINOR.to_le_bytes());
    out[16..24].copy_from_slice(&started_real_ns.to_le_bytes());
    out[24..28].copy_from_slice(&ABI_VERSION.to_le_bytes());
    seal(&mut out);
    out
}

/// Checks a file header; whether it is undamaged. One whose checksum alone is wrong is good enough to look for
/// blocks.
pub(crate) fn check_file_header(bytes: &[u8; HEADER_BYTES]) -> Result<bool, TraceError> {
    if bytes[..8] != MAGIC {
        return Err(TraceError::NotATrace);
    }
    let major = u32_at(bytes, 8) & 0xffff;
    if major != u32::from(MAJOR) {
        return Err(TraceError::Version { found: major, known: u32::from(MAJOR), offset: 8 });
    }
    let abi = u32_at(bytes, 24);
    if !(ABI_MIN..=ABI_VERSION).contains(&abi) {
        return Err(TraceError::Version { found: abi, known: ABI_VERSION, offset: 24 });
    }
    Ok(is_sealed(bytes))
}

/// The footer: the end of a complete file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Footer {
    /// Where the last index block starts.
    pub index_offset: u64,
    /// Bytes of the file, this footer included.
    pub file_bytes: u64,
    /// Blocks of the file.
    pub blocks: u32,
}

impl Footer {
    pub(crate) fn encode(&self) -> [u8; FOOTER_BYTES] {
        let mut out = [0; FOOTER_BYTES];
        out[..8].copy_from_slice(&FOOTER_MAGIC);
        out[8..16].copy_from_slice(&self.index_offset.to_le_bytes());
        out[16..24].copy_from_slice(&self.file_bytes.to_le_bytes());
        out[24..28].copy_from_slice(&self.blocks.to_le_bytes());
        seal(&mut out);
        out
    }

    /// The footer of a file of this length, if these bytes are one.
    pub(crate) fn decode(bytes: &[u8; FOOTER_BYTES], file_bytes: u64) -> Option<Footer> {
        let footer = Footer {
            index_offset: u64_at(bytes, 8),
            file_bytes: u64_at(bytes, 16),
            blocks: u32_at(bytes, 24),
        };
        let fits = bytes[..8] == FOOTER_MAGIC && footer.file_bytes == file_bytes;
        (fits && is_sealed(bytes)).then_some(footer)
    }
}
