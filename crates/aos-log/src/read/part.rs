//! One part: its header, then its messages one by one, in memory for one of them.

use std::io::Read;

use super::decode::{Decoder, Packing};
use super::error::{Damage, Policy, ReadError};
use super::flatbuffer::{Flaw, PREFIX_BYTES};
use super::header::PartHeader;
use super::limits::{PROBLEMS_MAX, RECORD_BYTES_MAX};
use super::message::Message;
use crate::header_fields::HeaderField;
use crate::layout::Layout;

/// A message and the record it was read from.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Where in what is unpacked it begins.
    pub offset: u64,
    /// Its bytes, with its length.
    pub bytes: &'a [u8],
    /// The message in it.
    pub message: Message<'a>,
}

/// A part that is being read.
pub struct PartReader<R> {
    decoder: Decoder<R>,
    policy: Policy,
    header: Option<PartHeader>,
    header_record: Vec<u8>,
    layout: Option<Layout>,
    /// What was unpacked and not yet passed.
    held: Vec<u8>,
    start: usize,
    /// Bytes of what is unpacked before `held[start]`.
    passed: u64,
    /// Of the record that was returned last.
    record_bytes: usize,
    problems: Vec<Damage>,
    more_problems: u64,
    is_done: bool,
    messages: u64,
}

impl<R: Read> PartReader<R> {
    /// Over a file from its beginning; reads its header. A file that begins with a message has none: that is
    /// a piece of a part.
    ///
    /// # Errors
    /// When the file cannot be read, or its first record is neither a header nor a message.
    pub fn open(file: R, policy: Policy) -> Result<PartReader<R>, ReadError> {
        let mut part = PartReader {
            decoder: Decoder::new(file)?,
            policy,
            header: None,
            header_record: Vec::new(),
            layout: None,
            held: Vec::new(),
            start: 0,
            passed: 0,
            record_bytes: 0,
            problems: Vec::new(),
            more_problems: 0,
            is_done: false,
            messages: 0,
        };
        part.read_header()?;
        Ok(part)
    }

    /// The header of the part.
    pub fn header(&self) -> Option<&PartHeader> {
        self.header.as_ref()
    }

    /// The bytes of the record with which it begins, with its length.
    pub fn header_record(&self) -> Option<&[u8]> {
        self.header.as_ref().map(|_| &self.header_record[..])
    }

    /// How it is compressed.
    pub fn packing(&self) -> Packing {
        self.decoder.packing()
    }

    /// The layout that its records so far have; `None` as long as all of them are the same in both.
    pub fn layout(&self) -> Option<Layout> {
        self.layout
    }

    /// What was wrong so far, the first [`PROBLEMS_MAX`].
    pub fn problems(&self) -> &[Damage] {
        &self.problems
    }

    /// How much more was wrong.
    pub fn more_problems(&self) -> u64 {
        self.more_problems
    }

    /// Messages read so far.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The next message; `None` at the end, also where damage ended it.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged and the policy is [`Policy::Fail`].
    pub fn next_message(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        while let Some(len) = self.advance()? {
            match Message::parse(&self.held[self.start..self.start + len]) {
                Ok(_) => return Ok(self.current_record()),
                Err(flaw) => self.flawed(flaw, len)?,
            }
        }
        Ok(None)
    }

    /// The record that was found valid. Reading it a second time is for the borrow checker, which does
    /// not see that nothing of it is held when a loop continues.
    fn current_record(&mut self) -> Option<Record<'_>> {
        let bytes = &self.held[self.start..self.start + self.record_bytes];
        self.messages += 1;
        self.layout = self.layout.or_else(|| Message::layout_of(bytes));
        Message::parse(bytes).ok().map(|message| Record { offset: self.passed, bytes, message })
    }

    fn read_header(&mut self) -> Result<(), ReadError> {
        let Some(len) = self.advance()? else {
            let nothing =
                Damage { what: "a part without a record", offset: 0, is_unpacked: false, skipped_bytes: 0 };
            return Err(ReadError::Damaged(self.problems.first().copied().unwrap_or(nothing)));
        };
        match PartHeader::parse(&self.held[self.start..self.start + len]) {
            Ok(header) => self.set_header(header),
            Err(_) if Message::parse(&self.held[self.start..self.start + len]).is_ok() => {
                self.record_bytes = 0
            }
            Err(flaw) => {
                return Err(ReadError::Damaged(self.damage(flaw.what, self.passed + flaw.at as u64)));
            }
        }
        self.read_second_header()
    }

    /// Old loggers, which do not record their commit, could write their header twice; the last is right.
    fn read_second_header(&mut self) -> Result<(), ReadError> {
        while self.header.as_ref().is_some_and(|header| header.text(HeaderField::LoggerSha1).is_none()) {
            let Some(len) = self.advance()? else { break };
            match PartHeader::parse(&self.held[self.start..self.start + len]) {
                Ok(header) => self.set_header(header),
                Err(_) => {
                    self.record_bytes = 0;
                    break;
                }
            }
        }
        Ok(())
    }

    fn set_header(&mut self, header: PartHeader) {
        self.header = Some(header);
        self.header_record = self.held[self.start..self.start + self.record_bytes].to_vec();
    }

    fn damage(&self, what: &'static str, offset: u64) -> Damage {
        let is_unpacked = self.packing() != Packing::Plain;
        Damage { what, offset, is_unpacked, skipped_bytes: 0 }
    }

    /// Notes what is wrong; an error when nothing may be.
    fn note(&mut self, damage: Damage) -> Result<(), ReadError> {
        if self.policy == Policy::Fail {
            self.is_done = true;
            return Err(ReadError::Damaged(damage));
        }
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(damage);
        } else {
            self.more_problems += 1;
        }
        Ok(())
    }

    fn end(&mut self, what: &'static str) -> Result<(), ReadError> {
        self.is_done = true;
        self.note(self.damage(what, self.passed))
    }

    /// A record whose bytes are there and make no sense.
    fn flawed(&mut self, flaw: Flaw, len: usize) -> Result<(), ReadError> {
        let mut damage = self.damage(flaw.what, self.passed + flaw.at as u64);
        if self.policy == Policy::Skip {
            // Its length leads to the next one: counted from its beginning, wherever in it the flaw is.
            damage.skipped_bytes = len as u64;
            damage.offset = self.passed;
        } else {
            self.is_done = true;
        }
        self.note(damage)
    }

    /// Moves on to the next record: its bytes, those of its length included; `None` at the end.
    fn advance(&mut self) -> Result<Option<usize>, ReadError> {
        self.pass(self.record_bytes);
        self.record_bytes = 0;
        while !self.is_done {
            if !self.hold(PREFIX_BYTES)? {
                self.end_of_bytes("the part ends within the length of a record")?;
                continue;
            }
            let len = self.len_of_record();
            if len == PREFIX_BYTES {
                self.end("zeros where a record should be: the part was not finished")?;
            } else if len > RECORD_BYTES_MAX {
                self.pass_long_record(len)?;
            } else if self.hold(len)? {
                self.record_bytes = len;
                return Ok(Some(len));
            } else {
                self.end_of_bytes("the part ends within a record")?;
            }
        }
        Ok(None)
    }

    /// Bytes of the record at the start, with its length.
    fn len_of_record(&self) -> usize {
        let prefix = self.held[self.start..].first_chunk().map_or(0, |prefix| u32::from_le_bytes(*prefix));
        prefix as usize + PREFIX_BYTES
    }

    /// There are no more bytes: fine where a record ends, a problem within one.
    fn end_of_bytes(&mut self, within: &'static str) -> Result<(), ReadError> {
        if self.held.len() > self.start {
            return self.end(within);
        }
        self.is_done = true;
        Ok(())
    }

    /// A record that is longer than any: passed over when the file has that many bytes, which a wrong length
    /// hardly ever does.
    fn pass_long_record(&mut self, len: usize) -> Result<(), ReadError> {
        let mut damage = self.damage("a record of an impossible size", self.passed);
        if self.policy != Policy::Skip {
            self.is_done = true;
            return self.note(damage);
        }
        let mut left = len;
        while left > 0 && self.hold(1)? {
            let n = left.min(self.held.len() - self.start);
            self.pass(n);
            left -= n;
        }
        self.is_done = left > 0;
        damage.skipped_bytes = if left > 0 { 0 } else { len as u64 };
        self.note(damage)
    }

    fn pass(&mut self, n: usize) {
        self.start += n;
        self.passed += n as u64;
    }

    /// Whether `n` bytes are there; unpacks more until they are. Damage to the packing is noted and is the
    /// end of the bytes, unless the pieces behind it can be read.
    fn hold(&mut self, n: usize) -> Result<bool, ReadError> {
        while self.held.len() - self.start < n {
            self.held.drain(..self.start);
            self.start = 0;
            match self.decoder.more(&mut self.held) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(ReadError::Damaged(mut damage)) => {
                    // Only between two records a new one can begin.
                    let over = if self.held.is_empty() { self.decoder.pass_over() } else { None };
                    let over = over.filter(|_| self.policy == Policy::Skip);
                    damage.skipped_bytes = over.unwrap_or(0);
                    self.note(damage)?;
                    if over.is_none() {
                        self.is_done = true;
                        self.held.clear();
                        return Ok(false);
                    }
                }
                Err(e) => {
                    self.is_done = true;
                    return Err(e);
                }
            }
        }
        Ok(true)
    }
}

impl<R> std::fmt::Debug for PartReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PartReader")
            .field("header", &self.header)
            .field("passed", &self.passed)
            .finish_non_exhaustive()
    }
}
