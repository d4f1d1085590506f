//! From the bytes of a file to the records in it: plain, snappy in its two framings, xz, zstd. The first bytes
//! say which, whatever the file is called.
//!
//! Damage comes after everything that could be unpacked before it.

mod input;
mod snappy;
mod xz;
mod zstd;

use std::io::Read;

use self::input::Input;
use self::snappy::Snappy;
use self::xz::Xz;
use self::zstd::Zstd;
use super::error::{Damage, ReadError};
use super::limits::STEP_BYTES;

/// How a part is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// Snappy, in the framing of AOS or that of snappy itself.
    Snappy,
    /// xz.
    Xz,
    /// zstd, which AOS does not have.
    Zstd,
}

/// Bytes that tell a packing.
pub const PACKING_BYTES: usize = 10;

impl Packing {
    /// How a file with these first bytes is compressed.
    pub fn of(first: &[u8]) -> Packing {
        if first.starts_with(&snappy::MAGIC) {
            Packing::Snappy
        } else if first.starts_with(&xz::MAGIC) {
            Packing::Xz
        } else if zstd::is_frame(first) {
            Packing::Zstd
        } else {
            Packing::Plain
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Plain => "plain",
            Packing::Snappy => "snappy",
            Packing::Xz => "xz",
            Packing::Zstd => "zstd",
        }
    }
}

/// Unpacks a file.
pub(crate) struct Decoder<R> {
    input: Input<R>,
    packing: Unpacking,
}

enum Unpacking {
    Plain,
    Snappy(Snappy),
    Xz(Xz),
    Zstd(Box<Zstd>),
}

impl<R: Read> Decoder<R> {
    /// Over a file, from its first byte on.
    pub(crate) fn new(file: R) -> Result<Decoder<R>, ReadError> {
        let mut input = Input::new(file);
        let packing = match Packing::of(input.peek(PACKING_BYTES)?) {
            Packing::Plain => Unpacking::Plain,
            Packing::Snappy => Unpacking::Snappy(Snappy::default()),
            Packing::Xz => Unpacking::Xz(Xz::new()?),
            Packing::Zstd => Unpacking::Zstd(Box::new(Zstd::new()?)),
        };
        Ok(Decoder { input, packing })
    }

    pub(crate) fn packing(&self) -> Packing {
        match self.packing {
            Unpacking::Plain => Packing::Plain,
            Unpacking::Snappy(_) => Packing::Snappy,
            Unpacking::Xz(_) => Packing::Xz,
            Unpacking::Zstd(_) => Packing::Zstd,
        }
    }

    /// Appends the next bytes; whether there were any.
    pub(crate) fn more(&mut self, into: &mut Vec<u8>) -> Result<bool, ReadError> {
        let before = into.len();
        match &mut self.packing {
            Unpacking::Plain => self.input.take(STEP_BYTES, into)?,
            Unpacking::Snappy(snappy) => snappy.more(&mut self.input, into)?,
            Unpacking::Xz(xz) => xz.more(&mut self.input, into)?,
            Unpacking::Zstd(zstd) => zstd.more(&mut self.input, into)?,
        }
        Ok(into.len() > before)
    }

    /// After damage: passes over the damaged piece, if what comes behind it is known to begin with a record.
    /// How many bytes of the file that was.
    pub(crate) fn pass_over(&mut self) -> Option<u64> {
        match &mut self.packing {
            Unpacking::Snappy(snappy) => snappy.pass_over(),
            _ => None,
        }
    }
}

/// Damage at a byte of the file.
fn damaged(what: &'static str, offset: u64) -> ReadError {
    ReadError::Damaged(Damage { what, offset, is_unpacked: false, skipped_bytes: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that a decoder makes of a stream up to damage, and what that is.
    pub(super) fn read_all<'a>(
        stream: &'a [u8],
        mut more: impl FnMut(&mut Input<&'a [u8]>, &mut Vec<u8>) -> Result<(), ReadError>,
    ) -> (Vec<u8>, Option<String>) {
        let (mut input, mut into) = (Input::new(stream), Vec::new());
        loop {
            let before = into.len();
            match more(&mut input, &mut into) {
                Ok(()) if into.len() == before => return (into, None),
                Ok(()) => {}
                Err(e) => return (into, Some(e.to_string())),
            }
        }
    }

    #[test]
    fn first_bytes_tell() {
        assert_eq!(Packing::of(b"\xff\x06\0\0sNaPpY\0"), Packing::Snappy);
        assert_eq!(Packing::of(b"\xfd7zXZ\0\0"), Packing::Xz);
        assert_eq!(Packing::of(b"\x28\xb5\x2f\xfd\0"), Packing::Zstd);
        assert_eq!(Packing::of(b"\x5a\x2a\x4d\x18\0"), Packing::Zstd);
        assert_eq!(Packing::of(b"\xff\x06\0\0sNaPp"), Packing::Plain);
        assert_eq!(Packing::of(b""), Packing::Plain);
    }
}
