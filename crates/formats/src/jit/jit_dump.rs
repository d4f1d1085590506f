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
//! Times are CLOCK_MONOTONIC in ns, or with bit 0 of the flags the time stamp counter. Threads write records in another
//! order than they took the times for them.

use std::collections::HashMap;
use std::sync::Arc;

use super::{JitCode, JitLine, PIECES_MAX};

const MAGIC: u32 = 0x4a69_5444;
const LOAD: u32 = 0;
const MOVE: u32 = 1;
const LINES: u32 = 2;
/// Of the header's flags.
const BY_COUNTER: u64 = 1;
/// Bytes of a record before its fields.
const RECORD_BYTES: usize = 16;
/// What stands for the file of the line before.
const SAME_FILE: &[u8] = b"\xff";

/// Whether bytes begin as a dump of this machine does.
pub fn is_begin(first: &[u8]) -> bool {
    first.starts_with(&MAGIC.to_le_bytes())
}

/// What a dump's times are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DumpClock {
    /// CLOCK_MONOTONIC, ns.
    #[default]
    Monotonic,
    /// The time stamp counter.
    Counter,
}

/// What a dump says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct JitDump {
    /// What its times are.
    pub clock: DumpClock,
    /// Pieces of code in the order in which they were made, moved ones at each of their places.
    pub code: Vec<JitCode>,
    /// What is wrong at which byte, after which nothing is read.
    pub problem: Option<(u64, &'static str)>,
}

/// Reads a dump. What ends within a record was still being written.
pub fn read(bytes: &[u8]) -> JitDump {
    let mut header = Fields { rest: bytes };
    let Some((clock, length)) = begin(&mut header) else {
        return JitDump { problem: Some((0, "no jitdump")), ..JitDump::default() };
    };
    let mut dump = Dump::default();
    let problem = dump.records(bytes, length as usize);
    dump.pieces.sort_by_key(|piece| piece.made);
    JitDump { clock, code: dump.pieces, problem }
}

/// The clock and the bytes of the header.
fn begin(f: &mut Fields<'_>) -> Option<(DumpClock, u32)> {
    let (MAGIC, _version, length) = (f.u32()?, f.u32()?, f.u32()?) else { return None };
    let (_machine, _zero, _pid, _time, flags) = (f.u32()?, f.u32()?, f.u32()?, f.u64()?, f.u64()?);
    let clock = if flags & BY_COUNTER != 0 { DumpClock::Counter } else { DumpClock::Monotonic };
    Some((clock, length))
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
    /// Takes the records from this byte on; what is wrong with them.
    fn records(&mut self, bytes: &[u8], mut at: usize) -> Option<(u64, &'static str)> {
        while let Some(record) = bytes.get(at..).filter(|record| record.len() >= RECORD_BYTES) {
            let mut fields = Fields { rest: record };
            let (id, length, time) = (fields.u32()?, fields.u32()? as usize, fields.u64()?);
            if length < RECORD_BYTES {
                return Some((at as u64, "record without a length"));
            }
            let payload = record.get(RECORD_BYTES..length)?;
            if self.take(id, time, &mut Fields { rest: payload }).is_none() {
                return Some((at as u64, "damaged record"));
            }
            if self.pieces.len() >= PIECES_MAX {
                return Some((at as u64, "more code than there can be"));
            }
            at += length;
        }
        None
    }

    /// Takes a record of this time; `None` when it is damaged.
    fn take(&mut self, id: u32, time: u64, f: &mut Fields<'_>) -> Option<()> {
        match id {
            LOAD => self.load(time, f),
            MOVE => self.moved(time, f),
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

    fn load(&mut self, made: u64, f: &mut Fields<'_>) -> Option<()> {
        let (_pid, _tid, _address) = (f.u32()?, f.u32()?, f.u64()?);
        let (start, bytes, _index) = (f.u64()?, f.u64()?, f.u64()?);
        let (end, name) = (start.checked_add(bytes)?, f.text()?.into());
        let line = |(at, file, line): (u64, Arc<[u8]>, u32)| {
            Some(JitLine { offset: at.checked_sub(start)?, file, line })
        };
        let lines = std::mem::take(&mut self.lines).into_iter().filter_map(line).collect();
        self.put(JitCode { start, end, name, lines, made, moved: None });
        Some(())
    }

    /// Puts a piece to its new place, too; one that is not known stays so.
    fn moved(&mut self, time: u64, f: &mut Fields<'_>) -> Option<()> {
        let (_pid, _tid, _address) = (f.u32()?, f.u32()?, f.u64()?);
        let (old, start, bytes) = (f.u64()?, f.u64()?, f.u64()?);
        let end = start.checked_add(bytes)?;
        if let Some(piece) = self.newest.remove(&old).and_then(|at| self.pieces.get_mut(at)) {
            let moved = JitCode { start, end, made: time, ..piece.clone() };
            piece.moved = Some(time);
            self.put(moved);
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
mod tests;
