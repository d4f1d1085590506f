//! `jit-PID.dump`: a binary log of the code that a runtime makes, moves and throws away, with times, lines and the code
//! itself, as `perf inject --jit` reads it.
//!
//! ```text
//!   header  magic "DTiJ" u32  version u32  header bytes u32  machine u32  0 u32  pid u32  time u64  flags u64
//!   record  id u32  bytes u32  time u64, then
//!     0 load   pid u32  tid u32  address u64  address of the code u64  bytes of code u64  index u64  name 0  code
//!     1 move   pid u32  tid u32  address u64  old address u64  new address u64  bytes of code u64  index u64
//!     2 lines  address of the code u64  count u64, each: address u64  line u32  discriminator u32  file 0
//! ```
//! Lines are of the load that follows them; a file of `ff 00` is that of the line before. Other records are passed over.

use std::collections::HashMap;
use std::sync::Arc;

use super::{JitCode, JitLine, PIECES_MAX};

const MAGIC: u32 = 0x4a69_5444;
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const LINES: u32 = 2;
/// Bytes of a record before its fields.
const RECORD_BYTES: usize = 16;
/// What stands for the file of the line before.
const SAME_FILE: &[u8] = b"\xff";

/// Whether bytes begin as a dump of this machine does.
pub fn is_begin(first: &[u8]) -> bool {
    first.starts_with(&MAGIC.to_le_bytes())
}

/// Reads a dump: the pieces of code in the order in which they were made, moved ones at each of their places, and what is
/// wrong at which byte, after which nothing is read. What ends within a record was still being written.
pub fn read(bytes: &[u8]) -> (Vec<JitCode>, Option<(u64, &'static str)>) {
    let mut dump = Dump::default();
    let mut header = Fields { rest: bytes };
    let (Some(MAGIC), Some(_version), Some(length)) = (header.u32(), header.u32(), header.u32()) else {
        return (dump.pieces, Some((0, "no jitdump")));
    };
    let mut at = length as usize;
    while let Some(record) = bytes.get(at..).filter(|record| record.len() >= RECORD_BYTES) {
        let mut fields = Fields { rest: record };
        let (Some(id), Some(length)) = (fields.u32(), fields.u32()) else { break };
        let length = length as usize;
        if length < RECORD_BYTES {
            return (dump.pieces, Some((at as u64, "record without a length")));
        }
        let Some(payload) = record.get(RECORD_BYTES..length) else { break };
        if dump.take(id, &mut Fields { rest: payload }).is_none() {
            return (dump.pieces, Some((at as u64, "damaged record")));
        }
        if dump.pieces.len() >= PIECES_MAX {
            return (dump.pieces, Some((at as u64, "more code than there can be")));
        }
        at += length;
    }
    (dump.pieces, None)
}

/// A dump, as far as it is read.
#[derive(Default)]
struct Dump {
    pieces: Vec<JitCode>,
    /// The newest piece at each address.
    newest: HashMap<u64, usize>,
    /// Lines of the load that comes next.
    lines: Lines,
}

/// Lines by their addresses.
type Lines = Vec<(u64, Arc<[u8]>, u32)>;

impl Dump {
    /// Takes a record; `None` when it is damaged.
    fn take(&mut self, id: u32, f: &mut Fields<'_>) -> Option<()> {
        match id {
            LOAD => self.load(f),
            MOVE => self.moved(f),
            LINES => {
                self.lines = lines(f)?;
                Some(())
            }
            _ => Some(()),
        }
    }

    fn put(&mut self, piece: JitCode) {
        self.newest.insert(piece.start, self.pieces.len());
        self.pieces.push(piece);
    }

    fn load(&mut self, f: &mut Fields<'_>) -> Option<()> {
        let (_pid, _tid, _address) = (f.u32()?, f.u32()?, f.u64()?);
        let (start, bytes, _index) = (f.u64()?, f.u64()?, f.u64()?);
        let (end, name) = (start.checked_add(bytes)?, f.text()?.into());
        let line = |(at, file, line): (u64, Arc<[u8]>, u32)| {
            Some(JitLine { offset: at.checked_sub(start)?, file, line })
        };
        let lines = std::mem::take(&mut self.lines).into_iter().filter_map(line).collect();
        self.put(JitCode { start, end, name, lines });
        Some(())
    }

    /// Puts a piece to its new place, too; one that is not known stays so.
    fn moved(&mut self, f: &mut Fields<'_>) -> Option<()> {
        let (_pid, _tid, _address) = (f.u32()?, f.u32()?, f.u64()?);
        let (old, start, bytes) = (f.u64()?, f.u64()?, f.u64()?);
        let end = start.checked_add(bytes)?;
        if let Some(piece) = self.newest.get(&old).and_then(|at| self.pieces.get(*at)) {
            let piece = JitCode { start, end, ..piece.clone() };
            self.put(piece);
        }
        Some(())
    }
}

fn lines(f: &mut Fields<'_>) -> Option<Lines> {
    let (_code, count) = (f.u64()?, f.u64()?);
    let mut lines = Lines::new();
    for _ in 0..count {
        let (at, line, _discriminator) = (f.u64()?, f.u32()?, f.u32()?);
        let file = match f.text()? {
            SAME_FILE => lines.last().map(|(_, file, _)| file.clone()).unwrap_or_default(),
            file => file.into(),
        };
        lines.push((at, file, line));
    }
    lines.sort_by_key(|(at, ..)| *at);
    Some(lines)
}

/// Reads fields of this machine's order of bytes.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// Up to a zero, which is passed over.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: u32, payload: &[u8]) -> Vec<u8> {
        let bytes = (RECORD_BYTES + payload.len()) as u32;
        [&id.to_le_bytes()[..], &bytes.to_le_bytes(), &7_u64.to_le_bytes(), payload].concat()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// A dump of a function with lines that is moved.
    fn dump() -> Vec<u8> {
        let header: Vec<u8> =
            [MAGIC, 1, 40, 62, 0, 9, 0, 0, 0, 0].iter().flat_map(|n: &u32| n.to_le_bytes()).collect();
        let line = |at: u64, line: u32, file: &[u8]| {
            [&words(&[at])[..], &line.to_le_bytes(), &[0; 4], file, b"\0"].concat()
        };
        let lines = [words(&[100, 2]), line(100, 3, b"/a.js"), line(110, 4, SAME_FILE)].concat();
        let load = [words(&[9, 100, 100, 20, 1]), b"JS:*load\0".to_vec(), vec![0xcc; 20]].concat();
        let moved = words(&[9, 300, 100, 300, 20, 1]);
        let other = record(4, &[1, 2, 3]);
        [header, record(LINES, &lines), record(LOAD, &load), other, record(MOVE, &moved)].concat()
    }

    #[test]
    fn code_with_lines_that_is_moved() {
        let (pieces, problem) = read(&dump());
        let line = |offset, line| JitLine { offset, file: (*b"/a.js").into(), line };
        let lines: Arc<[JitLine]> = [line(0, 3), line(10, 4)].into();
        let name: Arc<[u8]> = (*b"JS:*load").into();
        let piece = |start| JitCode { start, end: start + 20, name: name.clone(), lines: lines.clone() };
        assert_eq!((pieces, problem), (vec![piece(100), piece(300)], None));
    }

    #[test]
    fn what_is_cut_ends_before_it_and_damage_is_named() {
        let whole = dump();
        for end in 40..whole.len() {
            let (pieces, problem) = read(&whole[..end]);
            assert!(pieces.len() < 2 && problem.is_none(), "{end}: {problem:?}");
        }
        assert_eq!(read(b"text").1, Some((0, "no jitdump")));
        let mut damaged = whole;
        damaged[44..48].fill(0);
        assert_eq!(read(&damaged).1, Some((40, "record without a length")));
    }
}
