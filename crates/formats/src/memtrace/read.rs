//! Reads a memtrace file from its beginning to its end, an event at a time.

use std::ops::ControlFlow;

use super::decode::{BadContent, Decoder, Packet};
use super::error::{Fault, MemtraceError, SkipReason, Skipped};
use super::event::{Event, Info, Moment};
use super::header::Header;
use super::info;
use super::locations::Locations;
use super::packets::{PacketAt, Packets};
use crate::source::Source;

/// Skipped parts that are listed; more are only counted.
const SKIPPED_MAX: usize = 1000;

/// How to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadOptions {
    /// Whether to read stacks; without them reading is faster, and does not notice damaged stacks.
    pub stacks: bool,
    /// Whether to skip invalid bytes and continue with the next packet that can be trusted.
    pub salvage: bool,
}

impl Default for ReadOptions {
    /// As memtrace reads: with stacks, and up to the first invalid bytes.
    fn default() -> Self {
        ReadOptions { stacks: true, salvage: false }
    }
}

/// Reads a file. It takes memory for 256 KiB of the file, for the names of all locations, and for each
/// domain a cache of 160 KiB and the longest stack.
#[derive(Debug)]
pub struct Reader<S> {
    packets: Packets<S>,
    options: ReadOptions,
    info: Info,
    offset: u64,
    decoder: Decoder,
    skipped: Vec<Skipped>,
    skipped_more: u64,
    skipped_bytes: u64,
    unread_objects: u64,
    skips_own: bool,
    damaged_at: Option<u64>,
    end_us: i64,
}

impl<S: Source> Reader<S> {
    /// Opens a file: reads its first packet.
    ///
    /// # Errors
    /// When the bytes cannot be read, or are no memtrace file. Without its first packet a file is none.
    pub fn open(source: S, options: ReadOptions) -> Result<Reader<S>, MemtraceError> {
        let mut packets = Packets::new(source);
        let malformed = |offset, fault| MemtraceError::Malformed { offset, fault };
        let (header, info) = match packets.at(0)? {
            PacketAt::Packet(header, content) => match info::decode(&header, content) {
                Ok(info) => (header, info),
                Err((at, fault)) => return Err(malformed((header.header_bytes + at) as u64, fault)),
            },
            PacketAt::Cut(_, bytes) => return Err(malformed(bytes as u64, Fault::CutInfo)),
            PacketAt::End => return Err(malformed(0, Fault::NotAPacket)),
            PacketAt::Bad(fault) => return Err(malformed(0, fault)),
        };
        Ok(Reader {
            packets,
            options,
            offset: header.packet_bytes as u64,
            decoder: Decoder::new(&info),
            end_us: info.start_us,
            info,
            skipped: Vec::new(),
            skipped_more: 0,
            skipped_bytes: 0,
            unread_objects: 0,
            skips_own: false,
            damaged_at: None,
        })
    }

    /// The trace as a whole.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// The locations of codes, as far as the file was read.
    pub fn locations(&self) -> &Locations {
        &self.decoder.locations
    }

    /// The first 1000 parts that were skipped so far.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// How many more parts were skipped than [`Self::skipped`] lists.
    pub fn skipped_more(&self) -> u64 {
        self.skipped_more
    }

    /// How many bytes of the file were skipped.
    pub fn skipped_bytes(&self) -> u64 {
        self.skipped_bytes
    }

    /// Whether anything was skipped that may have been of this process.
    pub fn skips_own(&self) -> bool {
        self.skips_own
    }

    /// The first byte that is invalid, or behind packets that are missing; none in a file that is only cut.
    pub fn damaged_at(&self) -> Option<u64> {
        let gap_at = self.decoder.gap_at.filter(|_| self.missing_objects() != 0);
        self.damaged_at.into_iter().chain(gap_at).min()
    }

    /// How many objects were allocated in packets that are cut or invalid, behind what was read of them, as far as their
    /// headers say. What else was in them is not known.
    pub fn unread_objects(&self) -> u64 {
        self.unread_objects
    }

    /// How many domains had events.
    #[cfg(test)]
    pub(crate) fn domains(&self) -> usize {
        self.decoder.domains()
    }

    /// How far the file was read, bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// When the last packet that was read ended, us since the trace's start.
    pub fn end_us(&self) -> i64 {
        self.end_us.saturating_sub(self.info.start_us)
    }

    /// How many stacks are not in the file, because they share more frames with the one before than were
    /// written of that one; they are read as the one before.
    pub fn hidden_stacks(&self) -> u64 {
        self.decoder.hidden_stacks()
    }

    /// Numbers of objects that are missing although no other domain can have them: packets were lost
    /// without a trace.
    pub fn missing_objects(&self) -> u64 {
        if self.decoder.domains() == 1 { self.decoder.gap_objects } else { 0 }
    }

    /// Calls `visit` with all events, until it breaks; returns what it broke with.
    ///
    /// # Errors
    /// When bytes cannot be read or are invalid; events before them were visited.
    #[inline]
    pub fn for_each<B>(
        &mut self,
        mut visit: impl FnMut(&Moment<'_>, &Event<'_>) -> ControlFlow<B>,
    ) -> Result<Option<B>, MemtraceError> {
        loop {
            match self.packet(&mut visit)? {
                Step::Next => {}
                Step::RuleViolation(why) => return Ok(Some(why)),
                Step::End => return Ok(None),
            }
        }
    }

    fn packet<B>(
        &mut self,
        visit: &mut impl FnMut(&Moment<'_>, &Event<'_>) -> ControlFlow<B>,
    ) -> Result<Step<B>, MemtraceError> {
        let begin = self.offset;
        let (header, content) = match self.packets.at(begin)? {
            PacketAt::Packet(header, content) => (header, content),
            PacketAt::Cut(header, bytes) => {
                let why = self.other_pid(&header).unwrap_or(SkipReason::Truncated);
                self.unread(Some(&header).filter(|header| header.pid == self.info.pid));
                self.skip(begin, bytes as u64, why);
                self.offset = begin + bytes as u64;
                return Ok(Step::End);
            }
            PacketAt::End => return Ok(Step::End),
            PacketAt::Bad(fault) => return self.bad(begin, None, fault),
        };
        self.offset = begin + header.packet_bytes as u64;
        if header.pid != self.info.pid {
            self.skip(begin, header.packet_bytes as u64, SkipReason::OtherPid(header.pid, self.info.pid));
            return Ok(Step::Next);
        }
        match self.decoder.packet(&Packet { header, content, offset: begin }, self.options.stacks, visit) {
            Ok(ControlFlow::Break(why)) => Ok(Step::RuleViolation(why)),
            Ok(ControlFlow::Continue(())) => {
                self.end_us = self.end_us.max(header.time_end_us);
                Ok(Step::Next)
            }
            Err(BadContent { at, fault }) => {
                let at = begin + (header.header_bytes + at) as u64;
                self.bad(at, Some((begin, header)), fault)
            }
        }
    }

    fn other_pid(&self, header: &Header) -> Option<SkipReason> {
        (header.pid != self.info.pid).then_some(SkipReason::OtherPid(header.pid, self.info.pid))
    }

    /// Stops at invalid bytes. When salvaging, continues behind the packet when its header is valid and another
    /// packet follows it, else at the next valid packet.
    fn bad<B>(
        &mut self,
        at: u64,
        packet: Option<(u64, Header)>,
        fault: Fault,
    ) -> Result<Step<B>, MemtraceError> {
        if fault != Fault::CutHeader {
            self.damaged_at.get_or_insert(at);
        }
        if !self.options.salvage {
            return Err(MemtraceError::Malformed { offset: at, fault });
        }
        let after = packet.map_or(at + 1, |(begin, header)| begin + header.packet_bytes as u64);
        let follows = |found| matches!(found, PacketAt::Packet(..) | PacketAt::Cut(..) | PacketAt::End);
        let is_whole = packet.is_some() && follows(self.packets.at(after)?);
        self.unread(packet.as_ref().filter(|_| is_whole).map(|(_, header)| header));
        let from = if is_whole { after } else { packet.map_or(at, |(begin, _)| begin) + 1 };
        self.offset = if is_whole { after } else { self.packets.next_trusted(from, self.info.pid)? };
        self.decoder.missed(packet.filter(|_| is_whole).map(|(_, header)| header.domain));
        self.skip(at, self.offset.saturating_sub(at), SkipReason::Fault { at, fault });
        Ok(Step::Next)
    }

    /// Counts what is not read of a packet.
    fn unread(&mut self, header: Option<&Header>) {
        let objects = header.map_or(0, |header| self.decoder.unread_objects(header));
        self.unread_objects = self.unread_objects.saturating_add(objects);
    }

    fn skip(&mut self, offset: u64, bytes: u64, why: SkipReason) {
        self.skipped_bytes += bytes;
        self.skips_own |= !matches!(why, SkipReason::OtherPid(..));
        if self.skipped.len() < SKIPPED_MAX {
            self.skipped.push(Skipped { offset, bytes, why });
        } else {
            self.skipped_more += 1;
        }
    }
}

enum Step<B> {
    Next,
    RuleViolation(B),
    End,
}
