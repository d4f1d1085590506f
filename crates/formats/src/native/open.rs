//! Opens a trace: by the index when the footer points to a sound one, else by a scan.

use super::block::{Kind, NO_PROCESS};
use super::catalog::Catalog;
use super::header::{FOOTER_BYTES, Footer, HEADER_BYTES, MAGIC, check_file_header};
use super::index::{IndexEntry, Segment};
use super::load::{Scratch, read_exact};
use super::scan::Scanner;
use crate::error::TraceError;
use crate::model::{ChunkEntry, ProcessIndex};
use crate::source::{Source, read_up_to};

/// The catalog of a trace: what it holds, and where.
pub(super) fn open<S: Source>(source: &S) -> Result<Catalog, TraceError> {
    let sound = file_header(source)?;
    let mut catalog = Catalog::default();
    let mut end = source.len();
    let footer = footer(source)?;
    if let Some(footer) = &footer {
        match by_index(source, footer) {
            Ok(whole) => catalog = whole,
            Err(e @ TraceError::Io { .. }) => return Err(e),
            Err(_) => {
                let at = footer.index_offset.min(end);
                catalog.problem(at, 0, "damaged index, blocks were searched instead");
                end -= FOOTER_BYTES as u64;
                let blocks = Some(footer.blocks);
                Scanner::new(source, HEADER_BYTES as u64, end, blocks).run(&mut catalog)?;
            }
        }
    } else {
        catalog.problem(end, 0, "the trace was not finished, or was cut: no footer");
        Scanner::new(source, HEADER_BYTES as u64, end, None).run(&mut catalog)?;
    }
    if !sound {
        catalog.problem(0, 0, "damaged file header");
    }
    Ok(catalog)
}

fn file_header<S: Source>(source: &S) -> Result<bool, TraceError> {
    let mut bytes = [0; HEADER_BYTES];
    let n = read_up_to(source, 0, &mut bytes).map_err(|error| TraceError::Io { offset: 0, error })?;
    if n < HEADER_BYTES && bytes.starts_with(&MAGIC) {
        return Err(TraceError::Damaged { offset: n as u64, what: "the file ends within its header" });
    }
    check_file_header(&bytes)
}

fn footer<S: Source>(source: &S) -> Result<Option<Footer>, TraceError> {
    let file_bytes = source.len();
    let Some(offset) = file_bytes.checked_sub(FOOTER_BYTES as u64).filter(|at| *at >= HEADER_BYTES as u64)
    else {
        return Ok(None);
    };
    let mut bytes = [0; FOOTER_BYTES];
    read_exact(source, offset, &mut bytes, "the file got shorter while it was read")?;
    Ok(Footer::decode(&bytes, file_bytes))
}

fn bad_index(offset: u64) -> TraceError {
    TraceError::Damaged { offset, what: "damaged index" }
}

/// The catalog from the index. Any doubt about the index is an error.
fn by_index<S: Source>(source: &S, footer: &Footer) -> Result<Catalog, TraceError> {
    let mut scratch = Scratch::default();
    let mut catalog = Catalog::default();
    let mut listing = Listing::default();
    for offset in segments(source, footer, &mut scratch)?.into_iter().rev() {
        let (_, payload) = scratch.block(source, offset, Kind::Index)?;
        let segment = Segment::parse(payload).ok_or(bad_index(offset))?;
        segment.visit(offset, |entry| listing.take(entry, &mut catalog)).ok_or(bad_index(offset))?;
    }
    for (kind, process, offset) in listing.records {
        match scratch.block(source, offset, kind) {
            Ok((header, payload)) => {
                let whose = header.process == process;
                if !whose || catalog.record(kind, process, payload).is_none() {
                    catalog.problem(offset, header.file_bytes(), kind.damaged());
                    evicted_gap(&mut catalog, kind, offset);
                }
            }
            Err(TraceError::Damaged { what, .. }) => {
                catalog.problem(offset, 0, what);
                evicted_gap(&mut catalog, kind, offset);
            }
            Err(e) => return Err(e),
        }
    }
    Ok(catalog)
}

/// Sums of evicted events that cannot be read are of events that nobody else counts.
fn evicted_gap(catalog: &mut Catalog, kind: Kind, offset: u64) {
    if kind == Kind::Evicted {
        catalog.gap(offset);
    }
}

/// Where the index blocks stand, last first. Each must begin to list where the one before it stands.
fn segments<S: Source>(source: &S, footer: &Footer, scratch: &mut Scratch) -> Result<Vec<u64>, TraceError> {
    let (mut found, mut offset) = (Vec::new(), footer.index_offset);
    let (mut next_offset, mut next_number) = (footer.file_bytes - FOOTER_BYTES as u64, footer.blocks);
    loop {
        let (header, payload) = scratch.block(source, offset, Kind::Index)?;
        let segment = Segment::parse(payload).ok_or(bad_index(offset))?;
        let ends = offset.checked_add(header.file_bytes()) == Some(next_offset);
        let number = segment.first_number.checked_add(segment.count).filter(|n| *n == header.number);
        if !ends || number.and_then(|n| n.checked_add(1)) != Some(next_number) {
            return Err(bad_index(offset));
        }
        found.push(offset);
        (next_offset, next_number) = (segment.first_offset, segment.first_number);
        if segment.previous == 0 {
            let whole = next_offset == HEADER_BYTES as u64 && next_number == 0;
            return if whole { Ok(found) } else { Err(bad_index(offset)) };
        }
        if segment.previous >= offset {
            return Err(bad_index(offset));
        }
        offset = segment.previous;
    }
}

/// Whether the catalog has only the offsets of such blocks.
fn is_read_later(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Definitions
            | Kind::Memory
            | Kind::Blocks
            | Kind::Heap
            | Kind::Pages
            | Kind::Symbols
            | Kind::Resident
    )
}

/// Sorts the entries of the index into the catalog; small blocks are read afterwards.
#[derive(Default)]
struct Listing {
    processes: u32,
    records: Vec<(Kind, u32, u64)>,
}

impl Listing {
    /// Takes an entry; whether it can be true. Events of a process without a process block cannot: the writer
    /// numbers a process only when it writes that block.
    fn take(&mut self, entry: &IndexEntry, catalog: &mut Catalog) -> bool {
        let IndexEntry { process, offset, number, .. } = *entry;
        let Some(kind) = Kind::from_number(entry.kind) else { return true };
        self.processes += u32::from(kind == Kind::Process);
        let is_known = process == NO_PROCESS || process < self.processes;
        if !is_known || !Catalog::belongs(kind, process) {
            return false;
        }
        if let Some((info, sums)) = entry.chunk {
            let process = ProcessIndex(process);
            catalog.chunk(ChunkEntry { process, info, sums, offset, number, ..ChunkEntry::default() });
        } else if is_read_later(kind) {
            catalog.record_offset(kind, process, offset);
        } else if kind != Kind::Index {
            self.records.push((kind, process, offset));
        }
        true
    }
}
