//! Sizes and numbers of the format, and the relations between them.

/// First four bytes of each packet.
pub const MAGIC: [u8; 4] = [0xc1, 0x1f, 0xfc, 0xc1];
/// The newest version, which is the one that is written.
pub const VERSION: u16 = 3;
/// Bytes of a packet with its header, at most, as memtrace's own writer and reader have it.
pub const PACKET_BYTES_MAX: usize = 1 << 15;
/// Bytes of a packet behind its header, at most, that memtrace's own reader accepts.
pub(crate) const CONTENT_BYTES_MAX: usize = 1 << 15;
/// Bytes of a packet's header in version 3.
pub const HEADER_BYTES: usize = 68;
/// The same in versions 1 and 2, which do not name the domain.
pub const OLD_HEADER_BYTES: usize = 66;

/// Bytes of a location with its code, at most, and of a stack's code words, about.
pub(crate) const VARIABLE_BYTES_MAX: usize = 4096;
/// Bytes of all other fields of an event, at most.
pub(crate) const FIXED_BYTES_MAX: usize = 100;
/// A packet is written out when fewer bytes than these are free.
pub(crate) const EVENT_BYTES_MAX: usize = FIXED_BYTES_MAX + VARIABLE_BYTES_MAX;
/// Code words of a stack end this many bytes before [`VARIABLE_BYTES_MAX`], so that the longest one fits.
pub(crate) const CODE_BYTES_MAX: usize = 10;

/// A packet is written out when it uses more new locations than these.
pub(crate) const NEW_LOCATIONS_MAX: usize = 128;
/// A packet is written out when an event is further than this from its begin, us.
pub(crate) const PACKET_TIME_MAX_US: i64 = 30_000_000;
/// Bits of an event's time in its header.
pub(crate) const TIME_BITS: u32 = 25;
/// Mask of these bits.
pub(crate) const TIME_MASK: u32 = (1 << TIME_BITS) - 1;
/// Object numbers that a domain takes at once.
pub const IDS_PER_CHUNK: i64 = 10_000;

/// Buckets of the caches of location codes.
pub(crate) const BUCKETS: usize = 1 << 14;
/// Names in a move-to-front table; also the code of a name that is in none.
pub(crate) const NAMES: usize = 31;
/// Frames of a stack, at most: a real one of 76,359 was seen, and a hostile file may not ask for more
/// memory than this.
pub const FRAMES_MAX: usize = 1 << 22;

pub(crate) const EVENT_INFO: u32 = 0;
pub(crate) const EVENT_LOCATION: u32 = 1;
pub(crate) const EVENT_ALLOC: u32 = 2;
pub(crate) const EVENT_PROMOTE: u32 = 3;
pub(crate) const EVENT_COLLECT: u32 = 4;
/// Code of a short allocation of 0 words, which there is none of.
pub(crate) const EVENT_SHORT: u32 = 100;
/// Words of the longest short allocation.
pub(crate) const SHORT_WORDS_MAX: i64 = 16;

const _: () = {
    assert!(PACKET_TIME_MAX_US < 1 << TIME_BITS);
    assert!(HEADER_BYTES + EVENT_BYTES_MAX < PACKET_BYTES_MAX);
    // As many code words as fit in a stack's bytes fit in the 16 bits that count them.
    assert!(VARIABLE_BYTES_MAX / 2 < u16::MAX as usize);
    assert!(BUCKETS == 1 << 14 && NAMES < 32);
};
