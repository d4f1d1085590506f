//! xz: one stream or several consecutive ones, as AOS's own reader accepts them.

use std::io::Read;

use liblzma::stream::{Action, CONCATENATED, Status, Stream};

use super::input::Input;
use crate::read::error::ReadError;
use crate::read::limits::{STEP_BYTES, XZ_MEMORY_BYTES_MAX};

/// What each stream begins with.
pub(super) const MAGIC: [u8; 6] = *b"\xfd7zXZ\0";

/// A decoder.
pub(super) struct Xz {
    stream: Stream,
    is_done: bool,
}

impl Xz {
    pub(super) fn new() -> Result<Xz, ReadError> {
        let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES_MAX, CONCATENATED);
        let stream = stream.map_err(|e| ReadError::Io { offset: 0, error: e.into() })?;
        Ok(Xz { stream, is_done: false })
    }

    /// Appends the next bytes; those that were unpacked before damage are appended first.
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
            let action = if is_end { Action::Finish } else { Action::Run };
            into.reserve(STEP_BYTES);
            let read = self.stream.total_in();
            let status = self.stream.process_vec(found, into, action);
            let read = (self.stream.total_in() - read) as usize;
            input.pass(read);
            let is_stuck = read == 0 && into.len() == before;
            match status {
                Ok(Status::StreamEnd) => self.is_done = true,
                Ok(_) if is_end && is_stuck => return self.end("the xz stream is cut", offset),
                Ok(_) => {}
                // It is reported again when the bytes before it have been taken.
                Err(_) if into.len() > before => {}
                Err(e) => return self.end(what(&e), offset + read as u64),
            }
        }
        Ok(())
    }

    fn end(&mut self, what: &'static str, offset: u64) -> Result<(), ReadError> {
        self.is_done = true;
        Err(ReadError::damaged(what, offset))
    }
}

fn what(error: &liblzma::stream::Error) -> &'static str {
    use liblzma::stream::Error;
    match error {
        Error::MemLimit | Error::Mem => "an xz stream that wants more memory than there may be",
        Error::Format => "something that is no xz stream",
        Error::Options | Error::UnsupportedCheck => "an xz stream that is packed in a way that is not known",
        _ => "a damaged xz stream",
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_all;
    use super::*;

    fn read(stream: &[u8]) -> (Vec<u8>, Option<String>) {
        let mut xz = Xz::new().unwrap();
        read_all(stream, |input, into| xz.more(input, into))
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        liblzma::read::XzEncoder::new(bytes, 1).read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn streams_follow_each_other() {
        let (one, two) = (vec![7; 300_000], b"two".to_vec());
        assert_eq!(read(&[packed(&one), packed(&two)].concat()), ([one, two].concat(), None));
    }

    #[test]
    fn bytes_before_damage_are_unpacked() {
        let bytes: Vec<u8> =
            (0..400_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let whole = packed(&bytes);
        let (before, error) = read(&whole[..whole.len() - 200]);
        assert!(bytes.starts_with(&before) && before.len() > bytes.len() / 2, "{}", before.len());
        assert_eq!(error, Some(format!("the xz stream is cut at byte {}", whole.len() - 200)));
        let mut flipped = whole;
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        let (_, error) = read(&flipped);
        assert!(error.is_some_and(|error| error.starts_with("a damaged xz stream at byte ")));
    }
}
