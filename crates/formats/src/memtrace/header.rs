//! The header of a packet, both ways.
//!
//! ```text
//!    0 u32 magic        4 i32 size in bits     8 i64 time_begin     16 i64 time_end, us since 1970
//!   24 u32 0           28 u16 version         30 i64 pid            38 u16 domain (version 3)
//!   40 u16 verifier index, ffff for none      42 u16 its prediction 44 i64 its code
//!   52 i64 first object's number              60 i64 number after the last one's
//! ```
//! Before version 3 there is no domain and what follows stands 2 bytes earlier.

use std::ops::Range;

use super::error::Fault;
use super::fields::{Cursor, FieldWriter, int};
use super::layout::{HEADER_BYTES, MAGIC, OLD_HEADER_BYTES, PACKET_BYTES_MAX, VERSION};

/// Whether bytes begin as a file does.
pub fn is_begin(first: &[u8]) -> bool {
    first.starts_with(&MAGIC)
}

/// A check of the cache of locations, as it is before the first event of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verifier {
    /// A bucket of the cache.
    pub index: u16,
    /// The bucket that is predicted to follow it.
    pub next: u16,
    /// The location code in it.
    pub code: i64,
}

/// The header of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Bytes of the packet with its header.
    pub packet_bytes: usize,
    /// Bytes of the header itself.
    pub header_bytes: usize,
    /// When it begins, us since 1970.
    pub time_begin_us: i64,
    /// When it ends, us since 1970.
    pub time_end_us: i64,
    /// Version of its format.
    pub version: u16,
    /// The process that wrote it.
    pub pid: i64,
    /// The domain whose events it has.
    pub domain: u16,
    /// What the cache of locations has in one place; none in packets without events.
    pub verifier: Option<Verifier>,
    /// Number of the first object that is allocated in it.
    pub ids_begin: i64,
    /// Number after that of the last one.
    pub ids_end: i64,
}

/// Where the fields stand that are known only when the packet is complete.
const AT_SIZE: usize = 4;
const AT_TIMES: usize = 8;
const AT_IDS: usize = 52;
const NO_VERIFIER: u16 = u16::MAX;

impl Header {
    /// Decodes the header at the start of `bytes`, which may be shorter than the packet.
    ///
    /// # Errors
    /// What is wrong with it, checked in the same order as memtrace does.
    pub fn decode(bytes: &[u8]) -> Result<Header, Fault> {
        Self::fields(bytes).map_err(|_| Fault::CutHeader)?
    }

    fn fields(bytes: &[u8]) -> Result<Result<Header, Fault>, Fault> {
        let mut at = Cursor::new(bytes);
        let (magic, size_bits) = (at.u32()?.to_le_bytes(), at.u32()? as i32);
        let (time_begin_us, time_end_us) = (at.i64()?, at.i64()?);
        at.skip(4)?;
        let version = at.u16()?;
        let pid = at.i64()?;
        let domain = if version >= 3 { at.u16()? } else { 0 };
        let (index, next, code) = (at.u16()?, at.u16()?, at.int()?);
        let header = Header {
            packet_bytes: usize::try_from(size_bits / 8).unwrap_or(0),
            header_bytes: if version >= 3 { HEADER_BYTES } else { OLD_HEADER_BYTES },
            time_begin_us,
            time_end_us,
            version,
            pid,
            domain,
            verifier: (index != NO_VERIFIER).then_some(Verifier { index, next, code }),
            ids_begin: at.i64()?,
            ids_end: at.i64()?,
        };
        Ok(header.check(magic, size_bits))
    }

    fn check(self, magic: [u8; 4], size_bits: i32) -> Result<Header, Fault> {
        if magic != MAGIC {
            Err(Fault::NotAPacket)
        } else if self.version > VERSION {
            Err(Fault::Version(self.version))
        } else if size_bits < 0 {
            Err(Fault::NegativeSize(size_bits))
        } else if self.time_begin_us > self.time_end_us {
            Err(Fault::PacketTimes)
        } else if self.ids_begin > self.ids_end {
            Err(Fault::PacketIds)
        } else if self.packet_bytes < self.header_bytes {
            Err(Fault::SmallPacket(self.packet_bytes))
        } else {
            Ok(self)
        }
    }

    /// Bytes of the packet behind its header.
    pub fn content_bytes(&self) -> usize {
        self.packet_bytes.saturating_sub(self.header_bytes)
    }
}

/// A packet's buffer.
pub(crate) type Packet = FieldWriter<PACKET_BYTES_MAX>;

/// Begins a packet: all that is known of its header.
pub(crate) fn begin(packet: &mut Packet, pid: i64, domain: u16, verifier: Option<Verifier>) {
    packet.clear();
    packet.put(MAGIC);
    packet.put([0; 24]);
    packet.put_u16(VERSION);
    packet.put_i64(pid);
    packet.put_u16(domain);
    let Verifier { index, next, code } =
        verifier.unwrap_or(Verifier { index: NO_VERIFIER, next: 0, code: 0 });
    packet.put_u16(index);
    packet.put_u16(next);
    packet.put_i64(int(code));
    packet.put([0; 16]);
}

/// Completes a packet's header: the time of its begin and end, the first object's number and the next one's.
pub(crate) fn finish(packet: &mut Packet, times_us: Range<i64>, ids: Range<i64>) {
    packet.patch(AT_SIZE, (packet.pos() as u32 * 8).to_le_bytes());
    packet.patch(AT_TIMES, times_us.start.to_le_bytes());
    packet.patch(AT_TIMES + 8, times_us.end.to_le_bytes());
    packet.patch(AT_IDS, ids.start.to_le_bytes());
    packet.patch(AT_IDS + 8, ids.end.to_le_bytes());
}
