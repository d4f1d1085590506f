//! Reads a log from its beginning to its end, a line at a time.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::{fmt, io};

use super::limits::{LINE_BYTES_MAX, PIECE_BYTES};
use super::line::{Line, Style};
use super::parse::{Bad, parse};
use crate::source::{Source, read_up_to};

/// The bytes could not be read.
#[derive(Debug)]
pub struct LogError {
    /// Where in the file.
    pub offset: u64,
    /// The error of the system.
    pub error: io::Error,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read at byte {}: {}", self.offset, self.error)
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Where a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Its number among the lines that are some, from 1: all the time that a log has.
    pub number: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// Its form.
    pub style: Style,
}

/// Lines that are none, for one reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// Why.
    pub why: Bad,
    /// How many.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Where the first begins in the file.
    pub first_offset: u64,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Skipped { why, lines, bytes, first_offset } = self;
        let (lines_are, first) = if *lines == 1 { ("line", "") } else { ("lines", ", the first") };
        write!(f, "{lines} {lines_are} {} ({bytes} bytes){first} at byte {first_offset}", why.words())
    }
}

/// Reads a file. It takes memory for 256 KiB of it.
#[derive(Debug)]
pub struct Reader<S> {
    source: S,
    /// A piece of the file that is still to be read, and where it begins there.
    piece: Vec<u8>,
    offset: u64,
    /// Where a skipped part begins whose end was not read yet: zero bytes, or a line that is too long.
    skipping: Option<(u64, Bad)>,
    lines: u64,
    skipped: BTreeMap<Bad, Skipped>,
    zeros_at_end: u64,
}

impl<S: Source> Reader<S> {
    /// Reads this file; [`super::is_begin`] recognizes logs.
    pub fn new(source: S) -> Reader<S> {
        let (piece, skipped) = (Vec::new(), BTreeMap::new());
        Reader { source, piece, offset: 0, skipping: None, lines: 0, skipped, zeros_at_end: 0 }
    }

    /// What was skipped, by reason.
    pub fn skipped(&self) -> impl Iterator<Item = &Skipped> {
        self.skipped.values()
    }

    /// Zero bytes behind the last line: space that a writer had reserved and did not need, which is no damage.
    pub fn zeros_at_end(&self) -> u64 {
        self.zeros_at_end
    }

    /// How many lines were visited.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Calls `visit` with all lines, until it breaks; returns what it broke with.
    ///
    /// # Errors
    /// When bytes cannot be read; lines before that were visited.
    pub fn for_each<B>(
        &mut self,
        mut visit: impl FnMut(&Moment, &Line) -> ControlFlow<B>,
    ) -> Result<Option<B>, LogError> {
        loop {
            let is_last = self.fill()?;
            let mut piece = std::mem::take(&mut self.piece);
            let mut done = 0;
            while let Some(len) = piece[done..].iter().position(|byte| *byte == b'\n') {
                let broke = self.line(&piece[done..done + len], &mut visit);
                done += len + 1;
                self.offset += len as u64 + 1;
                if let ControlFlow::Break(why) = broke {
                    return Ok(Some(why));
                }
            }
            if is_last {
                self.end(&piece[done..]);
                return Ok(None);
            }
            done += self.skip_unfinished(&piece[done..]);
            piece.drain(..done);
            self.piece = piece;
        }
    }

    /// Fills the piece up; whether the file is at its end.
    fn fill(&mut self) -> Result<bool, LogError> {
        let left = self.piece.len();
        self.piece.resize(PIECE_BYTES, 0);
        let offset = self.offset + left as u64;
        let n = read_up_to(&self.source, offset, &mut self.piece[left..])
            .map_err(|error| LogError { offset, error })?;
        self.piece.truncate(left + n);
        Ok(left + n < PIECE_BYTES)
    }

    /// How many bytes at the end of a piece, without a newline, need not be kept.
    fn skip_unfinished(&mut self, rest: &[u8]) -> usize {
        let zeros = self.zeros(rest);
        let after = rest.len() - zeros;
        if after > LINE_BYTES_MAX {
            let (begin, why) = self.skipping.take().unwrap_or((self.offset, Bad::TooLong));
            if why == Bad::Zeros {
                self.skip(why, begin, self.offset - begin);
            }
            self.skipping = Some((if why == Bad::Zeros { self.offset } else { begin }, Bad::TooLong));
        }
        let dropped = if after > LINE_BYTES_MAX { after } else { 0 };
        self.offset += dropped as u64;
        zeros + dropped
    }

    /// Skips the zero bytes before a line: how many. In a line that is too long they are part of it.
    fn zeros(&mut self, line: &[u8]) -> usize {
        let zeros = leading_zeros(line.iter());
        if zeros == 0 || self.skipping.is_some_and(|(_, why)| why == Bad::TooLong) {
            return 0;
        }
        self.skipping.get_or_insert((self.offset, Bad::Zeros));
        self.offset += zeros as u64;
        zeros
    }

    /// Parses a line, which begins at the reader's offset.
    fn line<B>(
        &mut self,
        line: &[u8],
        visit: &mut impl FnMut(&Moment, &Line) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let begin = self.offset;
        let line = &line[self.zeros(line)..];
        let offset = self.offset;
        self.offset = begin;
        let after = offset + line.len() as u64 + 1;
        if let Some((first, why)) = self.skipping.take() {
            self.skip(why, first, if why == Bad::Zeros { offset } else { after } - first);
            if why == Bad::TooLong {
                return ControlFlow::Continue(());
            }
        }
        match parse(line) {
            Ok((style, line)) => {
                self.lines += 1;
                visit(&Moment { number: self.lines, offset, style }, &line)
            }
            Err(why) => {
                self.skip(why, offset, after - offset);
                ControlFlow::Continue(())
            }
        }
    }

    /// Handles the bytes behind the last newline.
    fn end(&mut self, rest: &[u8]) {
        let rest = &rest[self.zeros(rest)..];
        let end = self.offset + rest.len() as u64;
        match self.skipping.take() {
            Some((begin, Bad::Zeros)) if rest.is_empty() => self.zeros_at_end = end - begin,
            Some((begin, Bad::TooLong)) => return self.skip(Bad::TooLong, begin, end - begin),
            Some((begin, why)) => self.skip(why, begin, self.offset - begin),
            None => {}
        }
        let cut = rest.len() - leading_zeros(rest.iter().rev());
        self.zeros_at_end += (rest.len() - cut) as u64;
        if cut > 0 {
            self.skip(Bad::Cut, self.offset, cut as u64);
        }
    }

    fn skip(&mut self, why: Bad, offset: u64, bytes: u64) {
        let of = self.skipped.entry(why).or_insert(Skipped { why, lines: 0, bytes: 0, first_offset: offset });
        of.lines += 1;
        of.bytes += bytes;
    }
}

fn leading_zeros<'a>(bytes: impl Iterator<Item = &'a u8>) -> usize {
    bytes.take_while(|byte| **byte == 0).count()
}
