//! zstd, which AOS does not have: a part that is packed so is ours.

use std::io::Read;

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::input::Input;
use crate::read::error::ReadError;
use crate::read::limits::{STEP_BYTES, ZSTD_WINDOW_LOG_MAX};

const FRAME: u32 = 0xfd2f_b528;
/// Skippable frames have one of sixteen magic numbers.
const PASSED_OVER: u32 = 0x184d_2a50;

/// Whether a file begins with a frame of zstd, or with one to be passed over.
pub(super) fn is_frame(first: &[u8]) -> bool {
    let magic = first.first_chunk().map(|magic| u32::from_le_bytes(*magic));
    magic.is_some_and(|magic| magic == FRAME || magic & !0xf == PASSED_OVER)
}

/// A decoder of consecutive frames.
pub(super) struct Zstd {
    decoder: Decoder<'static>,
    /// Whether a frame has begun and not ended.
    is_inside: bool,
    is_done: bool,
}

impl Zstd {
    pub(super) fn new() -> Result<Zstd, ReadError> {
        let io = |error| ReadError::Io { offset: 0, error };
        let mut decoder = Decoder::new().map_err(io)?;
        decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX)).map_err(io)?;
        Ok(Zstd { decoder, is_inside: false, is_done: false })
    }

    /// Appends the next bytes.
    pub(super) fn more<R: Read>(
        &mut self,
        input: &mut Input<R>,
        into: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let before = into.len();
        while !self.is_done && into.len() == before {
            let offset = input.offset();
            let found = input.peek(1)?;
            let is_end = found.is_empty();
            into.reserve(STEP_BYTES);
            let mut from = InBuffer::around(found);
            let mut to = OutBuffer::around_pos(into, before);
            let hint = self.decoder.run(&mut from, &mut to);
            let (read, written) = (from.pos(), to.pos() - before);
            input.pass(read);
            match hint {
                Ok(hint) => self.is_inside = if read + written == 0 { self.is_inside } else { hint != 0 },
                Err(_) => {
                    self.is_done = true;
                    return Err(ReadError::damaged("a damaged zstd frame", offset));
                }
            }
            if is_end && written == 0 {
                self.is_done = true;
                if self.is_inside {
                    return Err(ReadError::damaged("the zstd frame is cut", offset));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_all;
    use super::*;

    fn read(stream: &[u8]) -> (Vec<u8>, Option<String>) {
        let mut zstd = Zstd::new().unwrap();
        read_all(stream, |input, into| zstd.more(input, into))
    }

    #[test]
    fn frames_follow_each_other_and_end_somewhere() {
        let (one, two) = (vec![7; 300_000], b"two".to_vec());
        let packed = |bytes: &[u8]| zstd::bulk::compress(bytes, 3).unwrap();
        let mark = [&PASSED_OVER.to_le_bytes()[..], &[2, 0, 0, 0, 9, 9]].concat();
        let whole = [mark, packed(&one), packed(&two)].concat();
        assert!(is_frame(&whole));
        assert_eq!(read(&whole), ([&one[..], &two].concat(), None));
        let cut = whole.len() - 1;
        let (_, error) = read(&whole[..cut]);
        assert_eq!(error, Some(format!("the zstd frame is cut at byte {cut}")));
        let mut flipped = whole;
        flipped[10] ^= 0xff;
        assert!(read(&flipped).1.is_some());
    }
}
