//! Recovers a trace without its index: finds every block that is intact.
//!
//! Blocks follow each other without a gap. Where there is none, or one is damaged and none follows it, the scan
//! searches for the first bytes of the next. A header has its own CRC, which rules out matches by chance; blocks
//! are numbered, so that a missing, repeated or nested one is noticed.

use heapscribe_wire::record::BadEvent;

use super::block::{BLOCK_HEADER_BYTES, BlockHeader, Kind, SYNC};
use super::catalog::Catalog;
use super::chunk;
use super::columns::DecodeState;
use super::load::{Scratch, read_header};
use crate::error::TraceError;
use crate::model::ChunkSums;
use crate::model::{ChunkEntry, ProcessIndex};
use crate::source::{Source, read_up_to};

/// Bytes that are read first when a header is searched, then twice as many each time: most are near, and
/// a file with damage everywhere must not be read over and over.
const SEARCH_BYTES_MIN: usize = 256;
const SEARCH_BYTES_MAX: usize = 64 << 10;

/// Goes through the blocks from `at` to `end`.
pub(super) struct Scanner<'a, S> {
    source: &'a S,
    at: u64,
    end: u64,
    number: u32,
    /// How many blocks there are, where the footer says it; the last one is of the index.
    blocks: Option<u32>,
    /// Bytes that may still be read a second time to find blocks inside damaged ones: at first as many as the
    /// file has, or a file of false lengths would take quadratic time.
    rescan_bytes: u64,
    scratch: Scratch,
    search: Vec<u8>,
}

impl<'a, S: Source> Scanner<'a, S> {
    pub(super) fn new(source: &'a S, start: u64, end: u64, blocks: Option<u32>) -> Self {
        let (scratch, search) = (Scratch::default(), Vec::new());
        Scanner { source, at: start, end, number: 0, blocks, rescan_bytes: end, scratch, search }
    }

    /// Fills the catalog. Each round moves on by at least one byte.
    pub(super) fn run(mut self, catalog: &mut Catalog) -> Result<(), TraceError> {
        while self.at < self.end {
            let start = self.at;
            match read_header(self.source, start) {
                Ok(header) => self.block(&header, catalog)?,
                Err(e @ TraceError::Io { .. }) => return Err(e),
                Err(TraceError::Damaged { what, .. }) => {
                    self.at = self.search(start + 1)?;
                    catalog.problem(start, self.at - start, what);
                }
                Err(_) => break,
            }
        }
        let next = self.number.saturating_add(1);
        if self.blocks.is_some_and(|blocks| next < blocks) {
            catalog.gap(self.at);
        }
        Ok(())
    }

    fn block(&mut self, header: &BlockHeader, catalog: &mut Catalog) -> Result<(), TraceError> {
        let start = self.at;
        let what = match self.take(header, catalog) {
            Ok(()) => {
                self.at = start.saturating_add(header.file_bytes()).min(self.end);
                return Ok(());
            }
            Err(e @ TraceError::Io { .. }) => return Err(e),
            Err(TraceError::Damaged { what, .. }) => what,
            Err(_) => "damaged block",
        };
        // One that is cut is the last one of a trace that was not finished.
        let is_cut = self.is_cut(header);
        let had_events = [Kind::Events as u8, Kind::Evicted as u8].contains(&header.kind);
        if had_events && !is_cut {
            catalog.gap(start);
        }
        self.at = self.after_damage(start, header)?;
        catalog.problem(start, self.at - start, what);
        Ok(())
    }

    /// Where to continue after a damaged block: behind it if a block or the end is there, else at the first
    /// block after its header, because bytes of it may be missing.
    fn after_damage(&mut self, start: u64, header: &BlockHeader) -> Result<u64, TraceError> {
        let behind = start.saturating_add(header.file_bytes());
        if behind == self.end || (behind < self.end && read_header(self.source, behind).is_ok()) {
            return Ok(behind);
        }
        let cost = header.file_bytes();
        if self.rescan_bytes < cost {
            return Ok(behind.min(self.end));
        }
        self.rescan_bytes -= cost;
        self.search(start + BLOCK_HEADER_BYTES as u64)
    }

    /// Whether the file ends within the block that begins here.
    fn is_cut(&self, header: &BlockHeader) -> bool {
        self.at + BLOCK_HEADER_BYTES as u64 + u64::from(header.stored_bytes) > self.end
    }

    fn take(&mut self, header: &BlockHeader, catalog: &mut Catalog) -> Result<(), TraceError> {
        let offset = self.at;
        let damaged = |what| TraceError::Damaged { offset, what };
        if self.is_cut(header) {
            return Err(damaged("the file ends within a block"));
        }
        if header.number < self.number {
            return Err(damaged("a block that was before or is part of another"));
        }
        if header.number > self.number {
            catalog.problem(offset, 0, "blocks are missing before this one");
            catalog.gap(offset);
        }
        self.number = header.number.saturating_add(1);
        self.scratch.payload(self.source, offset, header)?;
        let Some(kind) = Kind::from_number(header.kind) else { return Ok(()) };
        if !Catalog::belongs(kind, header.process) {
            return Err(damaged("block of no or of the wrong process"));
        }
        catalog.record_offset(kind, header.process, offset);
        let (payload, state) = self.scratch.unpacked(header);
        if kind == Kind::Events {
            let (entry, bad) = events(header, offset, payload, state).ok_or(damaged(kind.damaged()))?;
            catalog.chunk(entry);
            bad.into_iter().for_each(|bad| catalog.problem(offset, 0, bad.why));
        }
        catalog.record(kind, header.process, payload).ok_or(damaged(kind.damaged()))
    }

    /// Where the next header stands from `from` on; the end when there is none.
    fn search(&mut self, from: u64) -> Result<u64, TraceError> {
        let mut at = from;
        let mut bytes = SEARCH_BYTES_MIN;
        while at < self.end {
            self.search.resize(bytes, 0);
            let n = read_up_to(self.source, at, &mut self.search)
                .map_err(|error| TraceError::Io { offset: at, error })?;
            if let Some(found) = find_header(&self.search[..n]) {
                return Ok((at + found as u64).min(self.end));
            }
            if n < bytes {
                break;
            }
            at += (n - (BLOCK_HEADER_BYTES - 1)) as u64;
            bytes = (2 * bytes).min(SEARCH_BYTES_MAX);
        }
        Ok(self.end)
    }
}

fn find_header(bytes: &[u8]) -> Option<usize> {
    let is_header =
        |w: &[u8]| w[..4] == SYNC && <&[u8; 32]>::try_from(w).is_ok_and(|w| BlockHeader::decode(w).is_ok());
    bytes.windows(BLOCK_HEADER_BYTES).position(is_header)
}

/// The index entry of a chunk, and the error at which its events end, if they do.
pub(super) fn events(
    header: &BlockHeader,
    offset: u64,
    payload: &[u8],
    state: &mut DecodeState,
) -> Option<(ChunkEntry, Option<BadEvent>)> {
    let (info, cut_bytes, columns) = chunk::split(payload)?;
    let mut sums = ChunkSums { cut_bytes, ..ChunkSums::begin(&info) };
    let mut bad = None;
    for event in columns.events(info.begin_ticks, state) {
        match event {
            Ok((dt, event)) => sums.add_event(dt, &event),
            Err(why) => bad = Some(why),
        }
    }
    let process = ProcessIndex(header.process);
    let entry = ChunkEntry { process, info, sums, offset, number: header.number, ..ChunkEntry::default() };
    Some((entry, bad))
}
