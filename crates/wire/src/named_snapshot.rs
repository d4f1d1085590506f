//! A named snapshot: a copy of the live table that the program itself has asked for at some place in its
//! code, as a file `snapshot.N` of its session, N from 1 on. It holds what a reader of the session would
//! have copied at that moment, so that it is read by the same code.
//!
//! ```text
//!      0  magic u64, stored last       8  abi u32                 12  name bytes u32, at most 64
//!     16  ticks u64                   24  the same moment, CLOCK_MONOTONIC ns
//!     32  the same moment, ns since 1970                          40  defs committed u64
//!     48  thread that asked u32       52  live units in use u32   56  records u32   60  extents u32
//!     64  why it is not of one instant u32, 0 when it is          68  0 up to 128
//!    128  name, UTF-8, then zeroes
//!    192  a copy of the head
//!  12480  records of 64 bytes, see [`crate::operation`]
//!         extents of the live file, by offset: offset u64, length u64, then so many bytes
//! ```
//! Offsets and lengths of extents are multiples of [`EXTENT_STEP_BYTES`]; what no extent covers is zero.
//! What the numbers mean is in the session's `defs`, up to the committed length.

use crate::head::HEAD_FILE_BYTES;
use crate::live::LIVE_FILE_BYTES;
use crate::operation::RECORDS_MAX;
use crate::version::ABI_VERSION;

/// First eight bytes of a named snapshot.
pub const MAGIC: u64 = u64::from_le_bytes(*b"HSCRSNAP");
/// What the names of these files begin with; a number follows.
pub const FILE_PREFIX: &str = "snapshot.";
/// Bytes of a name, at most.
pub const NAME_BYTES_MAX: usize = 64;
/// Bytes before the copy of the head.
pub const HEADER_BYTES: usize = 192;
/// Where the records begin.
pub const RECORDS_OFFSET: usize = HEADER_BYTES + HEAD_FILE_BYTES;
/// Bytes before those of an extent.
pub const EXTENT_HEADER_BYTES: usize = 16;
/// What offsets and lengths of extents are multiples of.
pub const EXTENT_STEP_BYTES: u64 = 4096;

const NAME_OFFSET: usize = 128;
const _: () = assert!(NAME_OFFSET + NAME_BYTES_MAX == HEADER_BYTES);

/// Why a snapshot is not of one instant, as far as the program could tell.
pub mod inexact {
    /// It is of one instant.
    pub const NOT: u32 = 0;
    /// A thread did not come out of its operation in time.
    pub const BUSY: u32 = 1;
    /// Somebody else took the hold away.
    pub const LOST_HOLD: u32 = 2;
    /// There are threads without a record.
    pub const NO_RECORD: u32 = 3;
    /// There is no barrier that reaches all threads.
    pub const NO_BARRIER: u32 = 4;
    /// The head could not be written, so nobody was held back.
    pub const NO_HOLD: u32 = 5;
}

/// The beginning of a named snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs, reason = "the table above says what each field is")]
pub struct Named<'a> {
    pub name: &'a [u8],
    pub ticks: u64,
    pub mono_ns: u64,
    pub real_ns: u64,
    pub defs_committed: u64,
    pub thread: u32,
    pub live_units: u32,
    pub records: u32,
    pub extents: u32,
    pub inexact: u32,
}

/// Why bytes are no named snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadNamed {
    /// Fewer bytes than its beginning has.
    TooShort,
    /// The first eight bytes are not ours: not a snapshot, or not whole yet.
    Magic,
    /// A version that this program does not know.
    Abi(u32),
    /// A length that none has, at this byte.
    Length(usize),
}

impl core::fmt::Display for BadNamed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            BadNamed::TooShort => f.write_str("the snapshot is too short"),
            BadNamed::Magic => f.write_str("no snapshot, or one that was never finished (byte 0)"),
            BadNamed::Abi(v) => write!(f, "snapshot of version {v}, known is {ABI_VERSION} (byte 8)"),
            BadNamed::Length(at) => write!(f, "the snapshot claims a length that none has (byte {at})"),
        }
    }
}

impl core::error::Error for BadNamed {}

impl<'a> Named<'a> {
    /// The bytes, without the magic when it is not to be believed yet. A name that is too long is cut.
    pub fn to_bytes(&self, is_whole: bool) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        let name = self.name.get(..NAME_BYTES_MAX).unwrap_or(self.name);
        if is_whole {
            out[..8].copy_from_slice(&MAGIC.to_le_bytes());
        }
        out[8..12].copy_from_slice(&ABI_VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&(name.len() as u32).to_le_bytes());
        let longs = [self.ticks, self.mono_ns, self.real_ns, self.defs_committed];
        for (i, long) in longs.into_iter().enumerate() {
            out[16 + 8 * i..24 + 8 * i].copy_from_slice(&long.to_le_bytes());
        }
        let words = [self.thread, self.live_units, self.records, self.extents, self.inexact];
        for (i, word) in words.into_iter().enumerate() {
            out[48 + 4 * i..52 + 4 * i].copy_from_slice(&word.to_le_bytes());
        }
        out[NAME_OFFSET..NAME_OFFSET + name.len()].copy_from_slice(name);
        out
    }

    /// Takes the beginning of a file apart.
    ///
    /// # Errors
    /// When it is not that of a whole named snapshot of this version.
    pub fn parse(bytes: &'a [u8]) -> Result<Named<'a>, BadNamed> {
        let bytes = bytes.get(..HEADER_BYTES).ok_or(BadNamed::TooShort)?;
        let u32_at = |o: usize| u32::from_le_bytes([bytes[o], bytes[o + 1], bytes[o + 2], bytes[o + 3]]);
        let u64_at = |o: usize| u64::from(u32_at(o)) | u64::from(u32_at(o + 4)) << 32;
        if u64_at(0) != MAGIC {
            return Err(BadNamed::Magic);
        }
        if u32_at(8) != ABI_VERSION {
            return Err(BadNamed::Abi(u32_at(8)));
        }
        let name_bytes = u32_at(12) as usize;
        if name_bytes > NAME_BYTES_MAX {
            return Err(BadNamed::Length(12));
        }
        if u32_at(56) as usize > RECORDS_MAX {
            return Err(BadNamed::Length(56));
        }
        Ok(Named {
            name: &bytes[NAME_OFFSET..NAME_OFFSET + name_bytes],
            ticks: u64_at(16),
            mono_ns: u64_at(24),
            real_ns: u64_at(32),
            defs_committed: u64_at(40),
            thread: u32_at(48),
            live_units: u32_at(52),
            records: u32_at(56),
            extents: u32_at(60),
            inexact: u32_at(64),
        })
    }
}

/// What stands before the bytes of an extent.
pub fn extent_header(offset: u64, length: u64) -> [u8; EXTENT_HEADER_BYTES] {
    let mut out = [0; EXTENT_HEADER_BYTES];
    out[..8].copy_from_slice(&offset.to_le_bytes());
    out[8..].copy_from_slice(&length.to_le_bytes());
    out
}

/// Offset and length of an extent; `None` when no live file has such a one.
pub fn parse_extent(bytes: &[u8; EXTENT_HEADER_BYTES]) -> Option<(u64, u64)> {
    let [offset, length] = [0, 8].map(|at| u64::from_le_bytes(core::array::from_fn(|i| bytes[at + i])));
    let end = offset.checked_add(length)?;
    let is_even = offset.is_multiple_of(EXTENT_STEP_BYTES) && length.is_multiple_of(EXTENT_STEP_BYTES);
    (is_even && length > 0 && end <= LIVE_FILE_BYTES as u64).then_some((offset, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: Named<'static> = Named {
        name: b"after the fourth request",
        ticks: 1 << 50,
        mono_ns: 2 << 50,
        real_ns: 3 << 50,
        defs_committed: 4096,
        thread: 7,
        live_units: 300,
        records: 65_536,
        extents: 3,
        inexact: inexact::BUSY,
    };

    #[test]
    fn beginnings_round_trip() {
        assert_eq!(Named::parse(&NAMED.to_bytes(true)), Ok(NAMED));
        let long = Named { name: &[b'x'; 100], ..NAMED };
        let bytes = long.to_bytes(true);
        assert_eq!(Named::parse(&bytes).unwrap().name, &[b'x'; 64]);
    }

    fn check(change: impl FnOnce(&mut [u8; HEADER_BYTES]), why: BadNamed) {
        let mut bytes = NAMED.to_bytes(true);
        change(&mut bytes);
        assert_eq!(Named::parse(&bytes), Err(why));
    }

    #[test]
    fn what_is_no_whole_snapshot_is_refused() {
        assert_eq!(Named::parse(&NAMED.to_bytes(false)), Err(BadNamed::Magic));
        assert_eq!(Named::parse(&NAMED.to_bytes(true)[..191]), Err(BadNamed::TooShort));
        check(|bytes| bytes[8] ^= 64, BadNamed::Abi(ABI_VERSION ^ 64));
        check(|bytes| bytes[12] = 65, BadNamed::Length(12));
        check(|bytes| bytes[56] = 1, BadNamed::Length(56));
    }

    #[test]
    fn extents_lie_within_the_file_and_on_pages() {
        for (offset, length, is_one) in [
            (0, 4096, true),
            (8192, 1 << 20, true),
            (0, 0, false),
            (1, 4096, false),
            (0, 4095, false),
            (u64::MAX - 4095, 4096, false),
            (LIVE_FILE_BYTES as u64 - 4096, 8192, false),
        ] {
            let parsed = parse_extent(&extent_header(offset, length));
            assert_eq!(parsed, is_one.then_some((offset, length)), "{offset} {length}");
        }
    }
}
