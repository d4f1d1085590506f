//! Copies stored blocks from one trace into another without compressing them again. A ring is many files, each
//! a row of blocks, and becomes one trace this way. Only events are unpacked, because the index of the new trace
//! has their sums.
//!
//! A piece ends at its first byte that is no sound block: its writer was killed there.

use super::block::{BLOCK_HEADER_BYTES, BlockHeader, Kind};
use super::header::HEADER_BYTES;
use super::load::{Scratch, read_header};
use super::{chunk as chunks, evicted, records, scan};
use crate::error::TraceError;
use crate::model::ChunkSums;
use crate::model::{ChunkInfo, Evicted, ProcessEnd, ProcessInfo};
use crate::source::Source;
use heapscribe_wire::record::Event;

/// A block, as it is stored.
#[derive(Debug)]
pub struct Piece<'a> {
    /// What it holds.
    pub kind: Kind,
    /// The number of its process in the trace that it is copied from.
    pub process: u32,
    /// What an events block holds.
    pub chunk: Option<(ChunkInfo, ChunkSums)>,
    /// What a process block says.
    pub info: Option<ProcessInfo>,
    /// The sums in a block of evicted events.
    pub evicted: Option<Evicted>,
    /// What the block of a process's end says.
    pub end: Option<ProcessEnd>,
    header: BlockHeader,
    stored: &'a [u8],
}

impl Piece<'_> {
    /// Bytes of the block.
    pub fn file_bytes(&self) -> u64 {
        self.header.file_bytes()
    }

    /// Appends the block with other numbers: how many bytes.
    pub(super) fn put(&self, process: u32, number: u32, out: &mut Vec<u8>) -> u64 {
        let header = BlockHeader { process, number, ..self.header };
        out.extend_from_slice(&header.encode());
        out.extend_from_slice(self.stored);
        out.resize(out.len() + (self.stored.len().next_multiple_of(8) - self.stored.len()), 0);
        header.file_bytes()
    }
}

/// Goes through a row of blocks.
#[derive(Debug)]
pub struct Pieces<S> {
    source: S,
    at: u64,
    scratch: Scratch,
}

impl<S: Source> Pieces<S> {
    /// From this offset of the source to its end.
    pub fn new(source: S, at: u64) -> Pieces<S> {
        Pieces { source, at, scratch: Scratch::default() }
    }

    /// Where the next block begins.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// The next block, `None` at the end. A kind that is not known is passed over.
    ///
    /// # Errors
    /// When the bytes are no sound block; nothing can be read after them.
    pub fn next_piece(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        loop {
            if self.at >= self.source.len() {
                return Ok(None);
            }
            let header = read_header(&self.source, self.at)?;
            let Some(kind) = Kind::from_number(header.kind) else {
                self.at = self.at.saturating_add(header.file_bytes());
                continue;
            };
            return self.take(kind, header).map(Some);
        }
    }

    /// The events of the block at this offset, each with the ticks since the one before it.
    ///
    /// # Errors
    /// When it is no sound block of events.
    pub fn events_at(&mut self, offset: u64) -> Result<Vec<(u64, Event)>, TraceError> {
        let damaged = TraceError::Damaged { offset, what: Kind::Events.damaged() };
        let (_, payload, state) = self.scratch.chunk(&self.source, offset)?;
        let (info, _, columns) = chunks::split(payload).ok_or(damaged)?;
        let events = columns.events(info.begin_ticks, state);
        events.map(|event| event.map_err(|bad| TraceError::Damaged { offset, what: bad.why })).collect()
    }

    fn take(&mut self, kind: Kind, header: BlockHeader) -> Result<Piece<'_>, TraceError> {
        let offset = self.at;
        let damaged = TraceError::Damaged { offset, what: kind.damaged() };
        self.scratch.payload(&self.source, offset, &header)?;
        let (payload, state) = self.scratch.unpacked(&header);
        let (mut chunk, mut evicted, mut info, mut end) = (None, None, None, None);
        if kind == Kind::Events {
            let (entry, _) = scan::events(&header, offset, payload, state).ok_or(damaged)?;
            chunk = Some((entry.info, entry.sums));
        } else if kind == Kind::Process {
            info = Some(records::get_process(payload).ok_or(damaged)?);
        } else if kind == Kind::Evicted {
            evicted = Some(evicted::get_evicted(payload).ok_or(damaged)?);
        } else if kind == Kind::ProcessEnd {
            end = Some(records::get_process_end(payload).ok_or(damaged)?);
        }
        self.at = offset.saturating_add(header.file_bytes());
        let stored = self.scratch.stored();
        Ok(Piece { kind, process: header.process, chunk, info, evicted, end, header, stored })
    }
}

/// Where each block begins, in a trace that has so many bytes, none of them of a footer.
///
/// # Errors
/// When there is something between them that is no block.
pub fn offsets<S: Source>(trace: &S) -> Result<Vec<u64>, TraceError> {
    let mut offsets = Vec::new();
    let mut at = HEADER_BYTES as u64;
    while at < trace.len() {
        offsets.push(at);
        at = at.saturating_add(read_header(trace, at)?.file_bytes());
    }
    Ok(offsets)
}

/// The kind, process and length of the block at the start of `bytes`; `None` when there is none or it is cut.
pub fn first_block(bytes: &[u8]) -> Option<(Kind, u32, usize)> {
    let header = BlockHeader::decode(bytes.first_chunk::<BLOCK_HEADER_BYTES>()?).ok()?;
    let length = usize::try_from(header.file_bytes()).ok().filter(|n| *n <= bytes.len())?;
    Some((Kind::from_number(header.kind)?, header.process, length))
}
