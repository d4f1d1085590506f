//! The index: where each block is and what its events add up to, so that a trace can be summed without
//! decoding its events.
//!
//! An index block lists all blocks since the index block before it, which it names; the footer names the
//! last. So the writer holds one block of it at most, and a reader that walks back sees that none is
//! missing: each list must begin where the one before it ended and end where it stands itself.
//!
//! ```text
//!   payload  previous index block u64 (0 none)  first offset u64  first number u32  entries u32
//!   entry    kind u8  process + 1  file bytes / 8
//!   events   thread  sequence  begin ticks*  begin mono*  end ticks^  end mono^  last alloc^
//!            events  allocs  frees  reallocs  failed  unknown frees  unknown reallocs  lost
//!            alloc bytes  freed bytes  net bytes (zigzag, less their difference)  max net  its ticks^
//!            first ticks^  last ticks^  cut bytes  mask of calls, counts of those
//! ```
//! `*` zigzag against the events entry before it in this block, `^` against the begin of the same chunk.

use super::block::Kind;
use super::fields::{Fields, put, put_from};
use super::splice::Piece;
use crate::model::ChunkInfo;
use crate::model::ChunkSums;

/// Size at which an index block is written.
const FULL_BYTES: usize = 64 << 10;

/// Collects entries until there are enough for a block.
#[derive(Debug, Default)]
pub(super) struct IndexBuilder {
    previous: u64,
    first_offset: u64,
    first_number: u32,
    count: u32,
    entries: Vec<u8>,
    last: ChunkInfo,
}

impl IndexBuilder {
    /// Begins the list of the blocks from this offset and number on.
    pub(super) fn begin(&mut self, previous: u64, first_offset: u64, first_number: u32) {
        self.entries.clear();
        (self.previous, self.first_offset, self.first_number) = (previous, first_offset, first_number);
        (self.count, self.last) = (0, ChunkInfo::default());
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.len() >= FULL_BYTES
    }

    /// Lists a block.
    pub(super) fn block(&mut self, kind: Kind, process: u32, file_bytes: u64) {
        self.count += 1;
        self.entries.push(kind as u8);
        put(&mut self.entries, u64::from(process.wrapping_add(1)));
        put(&mut self.entries, file_bytes / 8);
    }

    /// Lists an events block.
    pub(super) fn chunk(&mut self, process: u32, file_bytes: u64, info: &ChunkInfo, sums: &ChunkSums) {
        self.block(Kind::Events, process, file_bytes);
        put_info(&mut self.entries, info, &self.last);
        put_sums(&mut self.entries, sums, info.begin_ticks);
        self.last = *info;
    }

    /// Lists a block that is copied from another trace.
    pub(super) fn piece(&mut self, process: u32, file_bytes: u64, piece: &Piece<'_>) {
        match &piece.chunk {
            Some((info, sums)) => self.chunk(process, file_bytes, info, sums),
            None => self.block(piece.kind, process, file_bytes),
        }
    }

    /// The payload of the index block, at the end of `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.previous.to_le_bytes());
        out.extend_from_slice(&self.first_offset.to_le_bytes());
        out.extend_from_slice(&self.first_number.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(&self.entries);
    }
}

fn put_info(out: &mut Vec<u8>, info: &ChunkInfo, last: &ChunkInfo) {
    put(out, u64::from(info.thread));
    put(out, info.sequence);
    put_from(out, info.begin_ticks, last.begin_ticks);
    put_from(out, info.begin_mono_ns, last.begin_mono_ns);
    put_from(out, info.end_ticks, info.begin_ticks);
    put_from(out, info.end_mono_ns, info.begin_mono_ns);
    put_from(out, info.last_alloc_ticks, info.begin_ticks);
}

fn get_info(f: &mut Fields<'_>, last: &ChunkInfo) -> Option<ChunkInfo> {
    let (thread, sequence) = (f.small()?, f.number()?);
    let begin_ticks = f.number_from(last.begin_ticks)?;
    let begin_mono_ns = f.number_from(last.begin_mono_ns)?;
    Some(ChunkInfo {
        thread,
        sequence,
        begin_ticks,
        begin_mono_ns,
        end_ticks: f.number_from(begin_ticks)?,
        end_mono_ns: f.number_from(begin_mono_ns)?,
        last_alloc_ticks: f.number_from(begin_ticks)?,
    })
}

fn put_sums(out: &mut Vec<u8>, s: &ChunkSums, begin_ticks: u64) {
    for n in [s.events, s.allocs, s.frees, s.reallocs, s.failed, s.unknown_frees, s.unknown_reallocs] {
        put(out, u64::from(n));
    }
    put(out, s.lost_events);
    put(out, s.alloc_bytes);
    put(out, s.freed_bytes);
    put_from(out, s.net_bytes as u64, s.alloc_bytes.wrapping_sub(s.freed_bytes));
    put(out, s.max_net_bytes as u64);
    put_from(out, s.max_net_ticks, begin_ticks);
    put_from(out, s.first_ticks, begin_ticks);
    put_from(out, s.last_ticks, begin_ticks);
    put(out, u64::from(s.cut_bytes));
    let mask = s.calls.iter().rev().fold(0, |mask, n| mask << 1 | u64::from(*n != 0));
    put(out, mask);
    s.calls.iter().filter(|n| **n != 0).for_each(|n| put(out, u64::from(*n)));
}

fn get_sums(f: &mut Fields<'_>, begin_ticks: u64) -> Option<ChunkSums> {
    let mut s = ChunkSums {
        events: f.small()?,
        allocs: f.small()?,
        frees: f.small()?,
        reallocs: f.small()?,
        failed: f.small()?,
        unknown_frees: f.small()?,
        unknown_reallocs: f.small()?,
        lost_events: f.number()?,
        alloc_bytes: f.number()?,
        freed_bytes: f.number()?,
        ..ChunkSums::default()
    };
    s.net_bytes = f.number_from(s.alloc_bytes.wrapping_sub(s.freed_bytes))? as i64;
    s.net_blocks = i64::from(s.allocs) + i64::from(s.unknown_reallocs) - i64::from(s.frees);
    s.max_net_bytes = f.number()? as i64;
    s.max_net_ticks = f.number_from(begin_ticks)?;
    s.first_ticks = f.number_from(begin_ticks)?;
    s.last_ticks = f.number_from(begin_ticks)?;
    s.cut_bytes = f.small()?;
    let mask = f.number()?;
    for (_, n) in s.calls.iter_mut().enumerate().filter(|(i, _)| mask >> i & 1 != 0) {
        *n = f.small()?;
    }
    Some(s)
}

/// A block as the index lists it.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexEntry {
    pub kind: u8,
    pub process: u32,
    pub offset: u64,
    pub number: u32,
    /// What an events block holds.
    pub chunk: Option<(ChunkInfo, ChunkSums)>,
}

/// An index block, taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    pub previous: u64,
    pub first_offset: u64,
    pub first_number: u32,
    pub count: u32,
    entries: Fields<'a>,
}

impl<'a> Segment<'a> {
    pub(super) fn parse(payload: &'a [u8]) -> Option<Segment<'a>> {
        let mut f = Fields::new(payload);
        Some(Segment {
            previous: f.fixed_u64()?,
            first_offset: f.fixed_u64()?,
            first_number: f.fixed_u32()?,
            count: f.fixed_u32()?,
            entries: f,
        })
    }

    /// Hands the entries to `visit`, which may refuse them; whether they are whole and lead to the offset
    /// where this segment's own block stands.
    pub(super) fn visit(&self, own_offset: u64, mut visit: impl FnMut(&IndexEntry) -> bool) -> Option<()> {
        let (mut f, mut offset) = (self.entries, self.first_offset);
        let mut last = ChunkInfo::default();
        for i in 0..self.count {
            let kind = f.bytes(1)?[0];
            let process = f.small()?.wrapping_sub(1);
            let file_bytes = f.number()?.checked_mul(8).filter(|n| *n >= 32)?;
            let mut entry = IndexEntry { kind, process, offset, number: self.first_number + i, chunk: None };
            if kind == Kind::Events as u8 {
                last = get_info(&mut f, &last)?;
                entry.chunk = Some((last, get_sums(&mut f, last.begin_ticks)?));
            }
            offset = offset.checked_add(file_bytes).filter(|end| *end <= own_offset)?;
            if !visit(&entry) {
                return None;
            }
        }
        (f.is_empty() && offset == own_offset).then_some(())
    }
}
