//! Several parts as one log.
//!
//! Parts with the same `parts_uuid` are a sequence: what one writer wrote in one boot, cut into files. They are
//! read one after the other in the order of their `parts_index`, whatever order they are named in, and only one
//! of a sequence is open at a time. Messages of all sequences are in the order of their times; of
//! different nodes these are times of different clocks.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

use super::decode::Packing;
use super::error::{Damage, Policy, ReadError};
use super::header::PartHeader;
use super::limits::PROBLEMS_MAX;
use super::part::PartReader;
use super::sort::{OwnedMessage, Sorter};
use crate::header_fields::HeaderField;

/// Something that is wrong with one of the files.
#[derive(Debug)]
pub struct Problem<E> {
    /// Which file.
    pub file: usize,
    /// What is wrong.
    pub what: E,
}

impl<E: fmt::Display> fmt::Display for Problem<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.what.fmt(f)
    }
}

/// A file that was opened: its header, and how it is compressed.
#[derive(Clone, Debug)]
pub struct PartSummary {
    /// Which file.
    pub file: usize,
    /// Its header; a piece of a part has none.
    pub header: Option<PartHeader>,
    /// How it is compressed.
    pub packing: Packing,
}

/// The order of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// That of their times.
    Time,
    /// That of the files, sequence for sequence.
    File,
}

/// The parts of one writer, in their order.
struct Sequence<R> {
    /// Those that are still to be read, the next one last.
    files: Vec<usize>,
    open: Option<(usize, PartReader<R>)>,
    sorter: Sorter,
}

/// A log of several parts.
pub struct Parts<F, R> {
    open: F,
    policy: Policy,
    order: Order,
    opened: Vec<PartSummary>,
    sequences: Vec<Sequence<R>>,
    problems: Vec<Problem<Damage>>,
    more_problems: u64,
}

/// The result of reading, with the file of an error.
type OfFile<T> = Result<T, Problem<ReadError>>;

fn of_file<T>(file: usize, read: Result<T, ReadError>) -> OfFile<T> {
    read.map_err(|what| Problem { file, what })
}

impl<R: Read, F: FnMut(usize) -> io::Result<R>> Parts<F, R> {
    /// Reads the headers of files 0 to `files`, which `open` opens, and orders the files. One that
    /// cannot be read is a problem and is left out.
    ///
    /// # Errors
    /// With [`Policy::Fail`] when a header cannot be read, always when a file cannot be.
    pub fn open(files: usize, open: F, policy: Policy, order: Order) -> OfFile<Parts<F, R>> {
        let (opened, sequences, problems) = (Vec::new(), Vec::new(), Vec::new());
        let mut parts = Parts { open, policy, order, opened, sequences, problems, more_problems: 0 };
        for file in 0..files {
            let read = (parts.open)(file).map_err(|error| ReadError::Io { offset: 0, error });
            match read.and_then(|read| PartReader::open(read, policy)) {
                Ok(part) => parts.opened.push(PartSummary {
                    file,
                    header: part.header().cloned(),
                    packing: part.packing(),
                }),
                Err(ReadError::Damaged(what)) if policy != Policy::Fail => {
                    parts.note(Problem { file, what })?
                }
                Err(what) => return Err(Problem { file, what }),
            }
        }
        parts.find_sequences()?;
        Ok(parts)
    }

    /// The files that could be opened.
    pub fn opened(&self) -> &[PartSummary] {
        &self.opened
    }

    /// What was wrong so far, the first [`PROBLEMS_MAX`].
    pub fn problems(&self) -> &[Problem<Damage>] {
        &self.problems
    }

    /// How much more was wrong.
    pub fn more_problems(&self) -> u64 {
        self.more_problems
    }

    /// The next message; `None` at the end.
    ///
    /// # Errors
    /// When a file cannot be read, or is damaged and the policy is [`Policy::Fail`].
    pub fn next_message(&mut self) -> OfFile<Option<OwnedMessage>> {
        let mut oldest: Option<(i64, usize)> = None;
        for number in 0..self.sequences.len() {
            self.fill(number)?;
            let Some(time) = self.sequences[number].sorter.oldest_ns() else { continue };
            // In the order of the files the first sequence that has one is the one.
            if oldest.is_none_or(|(other, _)| self.order == Order::Time && time < other) {
                oldest = Some((time, number));
            }
            if self.order == Order::File {
                break;
            }
        }
        Ok(oldest.and_then(|(_, number)| self.sequences[number].sorter.pop()))
    }

    /// Groups by `parts_uuid`, orders by `parts_index`; a file that has none is a sequence of its own.
    fn find_sequences(&mut self) -> OfFile<()> {
        let mut groups: BTreeMap<(usize, String), Vec<(i64, usize)>> = BTreeMap::new();
        let mut firsts: BTreeMap<String, usize> = BTreeMap::new();
        for PartSummary { file, header, .. } in &self.opened {
            let uuid = header.as_ref().and_then(|header| header.text(HeaderField::PartsUuid));
            let (first, uuid) = match uuid {
                Some(uuid) if !uuid.is_empty() => (*firsts.entry(uuid.to_owned()).or_insert(*file), uuid),
                _ => (*file, ""),
            };
            let index = header.as_ref().map_or(0, |header| header.number(HeaderField::PartsIndex));
            groups.entry((first, uuid.to_owned())).or_default().push((index, *file));
        }
        for mut files in groups.into_values() {
            files.sort_unstable();
            for pair in files.windows(2).filter(|pair| pair[1].0 - pair[0].0 > 1) {
                let what = "a part before this one is missing: its number leaps, by the header";
                let damage = Damage { what, offset: 0, is_unpacked: false, skipped_bytes: 0 };
                self.note(Problem { file: pair[1].1, what: damage })?;
            }
            let files = files.into_iter().rev().map(|(_, file)| file).collect();
            self.sequences.push(Sequence { files, open: None, sorter: Sorter::default() });
        }
        Ok(())
    }

    fn note(&mut self, problem: Problem<Damage>) -> OfFile<()> {
        if self.policy == Policy::Fail {
            return Err(Problem { file: problem.file, what: ReadError::Damaged(problem.what) });
        }
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        } else {
            self.more_problems += 1;
        }
        Ok(())
    }

    /// Reads until the next message of the sequence is certain, or the sequence has ended.
    fn fill(&mut self, number: usize) -> OfFile<()> {
        while !self.is_ready(number) && self.begin_part(number)? {
            let sequence = &mut self.sequences[number];
            let Some((file, part)) = &mut sequence.open else { break };
            let file = *file;
            let Some(record) = of_file(file, part.next_message())? else {
                self.end_part(number)?;
                continue;
            };
            let sent_ns = record.message.monotonic_sent_time;
            if self.order == Order::Time && sequence.sorter.is_too_late(sent_ns) {
                let (offset, bytes) = (record.offset, record.bytes.len() as u64);
                self.too_late(number, offset, bytes)?;
            } else {
                sequence.sorter.push(OwnedMessage::new(file, record.offset, &record.message));
            }
        }
        Ok(())
    }

    fn is_ready(&mut self, number: usize) -> bool {
        let sorter = &mut self.sequences[number].sorter;
        if self.order == Order::File { sorter.oldest_ns().is_some() } else { sorter.is_ready() }
    }

    /// Whether a part is open, or there was a next one to be opened.
    fn begin_part(&mut self, number: usize) -> OfFile<bool> {
        let sequence = &mut self.sequences[number];
        if sequence.open.is_some() {
            return Ok(true);
        }
        let Some(file) = sequence.files.pop() else { return Ok(false) };
        let read = (self.open)(file).map_err(|error| ReadError::Io { offset: 0, error });
        let part = of_file(file, read.and_then(|read| PartReader::open(read, self.policy)))?;
        if let Some(header) = part.header() {
            let start_ns = header.number(HeaderField::MonotonicStartTime);
            sequence.sorter.begin_part(header.max_out_of_order_ns(), start_ns);
        }
        sequence.open = Some((file, part));
        Ok(true)
    }

    fn end_part(&mut self, number: usize) -> OfFile<()> {
        let Some((file, part)) = self.sequences[number].open.take() else { return Ok(()) };
        for what in part.problems() {
            self.note(Problem { file, what: *what })?;
        }
        self.more_problems += part.more_problems();
        if self.sequences[number].sorter.was_full && self.sequences[number].files.is_empty() {
            let what = "more messages wait for older ones than there is memory for; the order is not certain";
            let damage = Damage { what, offset: 0, is_unpacked: true, skipped_bytes: 0 };
            self.note(Problem { file, what: damage })?;
        }
        Ok(())
    }

    /// A message that is older than its log allows: it can no longer be put in order.
    fn too_late(&mut self, number: usize, offset: u64, bytes: u64) -> OfFile<()> {
        let Some((file, part)) = &self.sequences[number].open else { return Ok(()) };
        let file = *file;
        let what = "a message that is older than the log allows";
        let is_unpacked = part.packing() != Packing::Plain;
        let skipped_bytes = if self.policy == Policy::Skip { bytes } else { 0 };
        self.note(Problem { file, what: Damage { what, offset, is_unpacked, skipped_bytes } })?;
        if self.policy == Policy::Stop {
            self.end_part(number)?;
            self.sequences[number].files.clear();
        }
        Ok(())
    }
}

impl<F, R> fmt::Debug for Parts<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("opened", &self.opened).finish_non_exhaustive()
    }
}
