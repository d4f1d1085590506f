//! Unpacks a part, whichever way it is compressed.

use std::io::Read;

use super::input::Input;
use super::packing::{PACKING_BYTES, Packing};
use super::snappy::Snappy;
use super::xz::Xz;
use super::zstd::Zstd;
use crate::read::error::ReadError;
use crate::read::limits::STEP_BYTES;

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

    /// After damage: skips the damaged piece, if the next one is known to begin with a record. How many bytes of
    /// the file that was.
    pub(crate) fn pass_over(&mut self) -> Option<u64> {
        match &mut self.packing {
            Unpacking::Snappy(snappy) => snappy.pass_over(),
            _ => None,
        }
    }
}
