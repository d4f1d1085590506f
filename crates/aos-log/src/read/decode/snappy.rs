//! Snappy's framing, as AOS writes it and as it is specified.
//!
//! ```text
//!   u8 kind, u24 bytes that follow
//!   FF  "sNaPpY"
//!   00  u32 masked checksum of the unpacked bytes, then a block of snappy
//!   01  the same with the bytes as they are       not in AOS's
//!   80 to FE  passed over                         not in AOS's
//! ```
//! AOS's has another checksum (see [`checksum`]), and chunks that hold whole records, however long they are.
//! The first checksum determines the framing, and all others have to be of that one.

use std::io::Read;

use super::input::Input;
use crate::checksum;
use crate::read::error::ReadError;
use crate::read::limits::CHUNK_BYTES_MAX;

/// The chunk that each stream begins with.
pub(super) const MAGIC: [u8; 10] = *b"\xff\x06\0\0sNaPpY";

const HEADER_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 4;
/// Of 3 bytes that copy, snappy makes 64: no block is unpacked to more than this for each of its bytes.
const GROWTH_MAX: usize = 22;

/// Which framing a stream has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Framing {
    Aos,
    Standard,
}

/// A stream of chunks.
#[derive(Debug, Default)]
pub(super) struct Snappy {
    framing: Option<Framing>,
    chunk: Vec<u8>,
    /// Bytes of a chunk that is whole but damaged, until somebody decides what to do about it.
    damaged_bytes: Option<usize>,
}

/// What is done with a chunk.
enum Kind {
    Data { is_packed: bool },
    PassedOver,
}

impl Snappy {
    /// Appends the bytes of the next chunk that has some.
    pub(super) fn more<R: Read>(
        &mut self,
        input: &mut Input<R>,
        into: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let before = into.len();
        while into.len() == before {
            let offset = input.offset();
            let header = input.peek(HEADER_BYTES)?;
            let Some((&[kind, a, b, c], _)) = header.split_first_chunk() else {
                return match header.is_empty() {
                    true => Ok(()),
                    false => Err(ReadError::damaged("the file ends within the header of a chunk", offset)),
                };
            };
            let len = u32::from_le_bytes([a, b, c, 0]) as usize;
            let kind = self.kind(kind, len).map_err(|what| ReadError::damaged(what, offset))?;
            self.chunk.clear();
            let whole = input.peek(HEADER_BYTES + len)?;
            let Some(chunk) = whole.get(HEADER_BYTES..HEADER_BYTES + len) else {
                return Err(ReadError::damaged("the file ends within a chunk", offset));
            };
            let unpacked = match kind {
                Kind::Data { is_packed } => unpack(&mut self.framing, chunk, is_packed, into),
                Kind::PassedOver => Ok(()),
            };
            input.pass(HEADER_BYTES + len);
            if let Err(what) = unpacked {
                into.truncate(before);
                self.damaged_bytes = Some(HEADER_BYTES + len);
                return Err(ReadError::damaged(what, offset));
            }
        }
        Ok(())
    }

    /// A chunk of AOS begins with a record, so that the loss of one is no loss of the next.
    pub(super) fn pass_over(&mut self) -> Option<u64> {
        let bytes = self.damaged_bytes.take().filter(|_| self.framing == Some(Framing::Aos));
        bytes.map(|bytes| bytes as u64)
    }

    fn kind(&mut self, kind: u8, len: usize) -> Result<Kind, &'static str> {
        match kind {
            0x00 if len < CHECKSUM_BYTES => Err("a chunk that is shorter than its checksum"),
            0x00 => Ok(Kind::Data { is_packed: true }),
            0xff if len == MAGIC.len() - HEADER_BYTES => Ok(Kind::PassedOver),
            0xff => Err("a stream identifier of an impossible size"),
            _ if self.framing == Some(Framing::Aos) => Err("a kind of chunk that AOS does not have"),
            0x01 if len < CHECKSUM_BYTES => Err("a chunk that is shorter than its checksum"),
            0x01 => Ok(Kind::Data { is_packed: false }),
            0x80..=0xfe => {
                self.framing = Some(Framing::Standard);
                Ok(Kind::PassedOver)
            }
            _ => Err("an unknown kind of chunk"),
        }
    }
}

fn unpack(
    framing: &mut Option<Framing>,
    chunk: &[u8],
    is_packed: bool,
    into: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let Some((checksum, block)) = chunk.split_first_chunk() else { return Err("a chunk without a checksum") };
    let before = into.len();
    if is_packed {
        let wrong = "a chunk that cannot be unpacked";
        let len = snap::raw::decompress_len(block).map_err(|_| wrong)?;
        if len > CHUNK_BYTES_MAX || len / GROWTH_MAX > block.len() {
            return Err("a chunk that unpacks to an impossible size");
        }
        into.resize(before + len, 0);
        snap::raw::Decoder::new().decompress(block, &mut into[before..]).map_err(|_| wrong)?;
    } else {
        into.extend_from_slice(block);
    }
    let stored = u32::from_le_bytes(*checksum);
    let is = |which| stored == checksum_of(which, &into[before..]);
    match *framing {
        Some(known) if is(known) => Ok(()),
        None if is_packed && is(Framing::Aos) => {
            *framing = Some(Framing::Aos);
            Ok(())
        }
        None if is(Framing::Standard) => {
            *framing = Some(Framing::Standard);
            Ok(())
        }
        _ => Err("a chunk whose checksum is wrong"),
    }
}

fn checksum_of(framing: Framing, bytes: &[u8]) -> u32 {
    checksum::masked(match framing {
        Framing::Aos => checksum::jamcrc(bytes),
        Framing::Standard => checksum::crc32c(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_all;
    use super::*;

    fn chunk(kind: u8, checksum: u32, body: &[u8]) -> Vec<u8> {
        let len = u32::try_from(body.len() + 4).unwrap().to_le_bytes();
        [&[kind, len[0], len[1], len[2]][..], &checksum::masked(checksum).to_le_bytes(), body].concat()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        snap::raw::Encoder::new().compress_vec(bytes).unwrap()
    }

    /// The bytes up to damage, and what that is.
    fn read(stream: &[u8]) -> (Vec<u8>, Option<String>) {
        let mut snappy = Snappy::default();
        read_all(stream, |input, into| snappy.more(input, into))
    }

    #[test]
    fn both_framings_are_read() {
        let (one, two) = (b"one one one one one".as_slice(), b"two".as_slice());
        let aos = [
            &MAGIC[..],
            &chunk(0, checksum::jamcrc(one), &packed(one)),
            &chunk(0, checksum::jamcrc(two), &packed(two)),
        ];
        assert_eq!(read(&aos.concat()), ([one, two].concat(), None));
        let padding = [0xfe, 2, 0, 0, 9, 9];
        let standard = [
            &MAGIC[..],
            &chunk(0, checksum::crc32c(one), &packed(one)),
            &padding,
            &chunk(1, checksum::crc32c(two), two),
        ];
        assert_eq!(read(&standard.concat()), ([one, two].concat(), None));
    }

    /// The error of a stream in AOS's framing whose second chunk is this.
    fn check(second: &[u8], error: &str) {
        let one = b"one".as_slice();
        let first = chunk(0, checksum::jamcrc(one), &packed(one));
        let at = MAGIC.len() + first.len();
        let (bytes, damage) = read(&[&MAGIC[..], &first, second].concat());
        assert_eq!((bytes, damage), (one.to_vec(), Some(format!("{error} at byte {at}"))));
    }

    #[test]
    fn damage_is_named() {
        let two = b"two".as_slice();
        check(&[0], "the file ends within the header of a chunk");
        check(&[0; 4], "a chunk that is shorter than its checksum");
        check(&[0, 9, 0, 0, 1], "the file ends within a chunk");
        check(&chunk(0, 7, &packed(two)), "a chunk whose checksum is wrong");
        check(&chunk(0, checksum::crc32c(two), &packed(two)), "a chunk whose checksum is wrong");
        check(&chunk(1, checksum::jamcrc(two), two), "a kind of chunk that AOS does not have");
        check(&[0xfe, 0, 0, 0], "a kind of chunk that AOS does not have");
        check(&[0x02, 0, 0, 0], "a kind of chunk that AOS does not have");
        check(&[0xff, 5, 0, 0, 1, 2, 3, 4, 5], "a stream identifier of an impossible size");
        check(&chunk(0, 0, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0]), "a chunk that unpacks to an impossible size");
        check(&chunk(0, 0, &[9, 0xff]), "a chunk that cannot be unpacked");
    }
}
