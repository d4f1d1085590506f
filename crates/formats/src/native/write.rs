//! Writes a trace: appends blocks to a buffer of the caller.

use heapscribe_wire::definitions::{BadDefinition, DEFINITION_BYTES_MAX, Definition, Definitions, Position};
use heapscribe_wire::limits::CHUNK_PAYLOAD_BYTES;

use super::block::{Kind, NO_PROCESS};
use super::columns::Encoder;
use super::header::{FOOTER_BYTES, Footer, HEADER_BYTES, file_header};
use super::index::IndexBuilder;
use super::live_tables::{self, BLOCKS_MAX};
use super::load::read_header;
use super::memory_maps::{FREE_MAX, MAPPINGS_MAX, RUNS_MAX};
use super::pack::{Packer, Payload};
use super::splice::{Piece, Pieces};
use super::{chunk, evicted, heap_samples, memory_maps, records, resident, symbols};
use crate::error::TraceError;
use crate::model::ChunkSums;
use crate::model::{
    ChunkInfo, Evicted, FreeRange, HeapInfo, HeapSample, LiveBlock, LiveTable, Mapping, MemoryMap,
    MemorySample, ModuleSymbols, PageRun, ProcessEnd, ProcessIndex, ProcessInfo, ResidentSample, SessionEnd,
    SessionInfo,
};
use crate::source::Source;

/// Level of zstd that is used when none is asked for.
pub const DEFAULT_LEVEL: i32 = 1;

/// Bytes of definitions in one block: little is lost when one is damaged.
const DEFINITIONS_SLICE_BYTES: usize = 256 << 10;
/// Memory samples in one block.
const SAMPLES_PER_BLOCK: usize = 4096;
/// The same of heap samples, which are three times as long.
const HEAP_SAMPLES_PER_BLOCK: usize = 1024;

/// Writes a trace. The bytes that its functions append to `out` are to be written to the file in this
/// order. The writer itself keeps the list for the next index block (about 64 KiB), a buffer of 256 KiB,
/// buffers for the columns of one chunk (4 MiB at most) and the compressor, however long the trace becomes.
pub struct Writer {
    packer: Packer,
    encoder: Encoder,
    live: live_tables::Columns,
    index: IndexBuilder,
    raw: Vec<u8>,
    /// Where each column of `raw` ends.
    column_ends: Vec<usize>,
    bytes: u64,
    number: u32,
    processes: u32,
}

/// How much of the definitions was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DefinitionsTaken {
    /// The numbering after them, at which the next bytes start.
    pub position: Position,
    /// Bytes taken: whole definitions.
    pub bytes: usize,
    /// What stopped it before the end. When it is a cut definition that is still being written, give the
    /// bytes from there on again with more behind them.
    pub bad: Option<BadDefinition>,
}

impl Default for Writer {
    fn default() -> Self {
        Writer::new()
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("bytes", &self.bytes).field("blocks", &self.number).finish()
    }
}

impl Writer {
    /// A writer that compresses at [`DEFAULT_LEVEL`].
    pub fn new() -> Writer {
        let mut packer = Packer::default();
        packer.set_level(DEFAULT_LEVEL);
        let raw = Vec::with_capacity(DEFINITIONS_SLICE_BYTES + DEFINITION_BYTES_MAX);
        Writer {
            packer,
            encoder: Encoder::default(),
            live: live_tables::Columns::default(),
            index: IndexBuilder::default(),
            raw,
            column_ends: Vec::new(),
            bytes: 0,
            number: 0,
            processes: 0,
        }
    }

    /// A writer that continues behind the last block of a trace that was not finished.
    ///
    /// # Errors
    /// When there is something in it that is no block.
    pub fn resume<S: Source>(trace: &S) -> Result<Writer, TraceError> {
        let mut writer = Writer::new();
        let mut at = HEADER_BYTES as u64;
        writer.index.begin(0, at, 0);
        let mut unlisted = at;
        while at < trace.len() {
            let header = read_header(trace, at)?;
            let next = at.saturating_add(header.file_bytes());
            writer.number = header.number.wrapping_add(1);
            writer.processes += u32::from(header.kind == Kind::Process as u8);
            if header.kind == Kind::Index as u8 {
                writer.index.begin(at, next, writer.number);
                unlisted = next;
            }
            at = next;
        }
        writer.bytes = at;
        let mut pieces = Pieces::new(trace, unlisted);
        while let Some(piece) = pieces.next_piece()? {
            writer.index.piece(piece.process, piece.file_bytes(), &piece);
        }
        Ok(writer)
    }

    /// Compresses at this level of zstd from now on; 0 does not compress.
    pub fn set_level(&mut self, level: i32) {
        self.packer.set_level(level);
    }

    /// Begins the file. Must be called first.
    pub fn start(&mut self, session: &SessionInfo, out: &mut Vec<u8>) {
        let header = file_header(session.started_real_ns);
        out.extend_from_slice(&header);
        self.bytes = header.len() as u64;
        self.index.begin(0, self.bytes, 0);
        self.raw.clear();
        records::put_session(&mut self.raw, session);
        self.listed(Kind::Session, NO_PROCESS, out);
    }

    /// Writes a process image and returns its number.
    pub fn process(&mut self, info: &ProcessInfo, out: &mut Vec<u8>) -> ProcessIndex {
        let index = self.processes;
        self.processes += 1;
        self.raw.clear();
        records::put_process(&mut self.raw, info);
        self.listed(Kind::Process, index, out);
        ProcessIndex(index)
    }

    /// Writes a piece of a process's definitions, which starts at a definition and at `position` of the
    /// numbering. Must be written before the first events that need it.
    pub fn definitions(
        &mut self,
        process: ProcessIndex,
        position: Position,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> DefinitionsTaken {
        self.definitions_seen(process, position, bytes, out, |_| ())
    }

    /// The same, and `see` sees each: they are decoded once.
    pub fn definitions_seen(
        &mut self,
        process: ProcessIndex,
        position: Position,
        bytes: &[u8],
        out: &mut Vec<u8>,
        mut see: impl FnMut(&Definition<'_>),
    ) -> DefinitionsTaken {
        let mut reader = Definitions::new(bytes, position);
        let mut bad = None;
        while bad.is_none() && reader.offset() < bytes.len() {
            let (start, begins) = (reader.offset(), reader.position());
            while reader.offset() - start < DEFINITIONS_SLICE_BYTES {
                match reader.next() {
                    Some(Ok((_, definition))) => see(&definition),
                    Some(Err(why)) => bad = Some(why),
                    None => break,
                }
            }
            self.definitions_slice(process, begins, &bytes[start..reader.offset()], out);
        }
        DefinitionsTaken { position: reader.position(), bytes: reader.offset(), bad }
    }

    fn definitions_slice(&mut self, process: ProcessIndex, from: Position, bytes: &[u8], out: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.raw.clear();
        self.raw.extend_from_slice(&from.next_node.to_le_bytes());
        self.raw.extend_from_slice(&[0; 4]);
        self.raw.extend_from_slice(&from.last_pc.to_le_bytes());
        self.raw.extend_from_slice(bytes);
        self.listed(Kind::Definitions, process.0, out);
    }

    /// Writes a chunk's events up to the first that is none; [`ChunkSums::cut_bytes`] counts the rest.
    pub fn events(
        &mut self,
        process: ProcessIndex,
        info: &ChunkInfo,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> ChunkSums {
        self.raw.clear();
        chunk::put_prefix(&mut self.raw, info);
        let most = payload.get(..CHUNK_PAYLOAD_BYTES).unwrap_or(payload);
        let mut sums = self.encoder.encode(info, most, &mut self.raw, &mut self.column_ends);
        let beyond = u32::try_from(payload.len() - most.len()).unwrap_or(u32::MAX);
        sums.cut_bytes = sums.cut_bytes.saturating_add(beyond);
        chunk::set_cut(&mut self.raw, sums.cut_bytes);
        let file_bytes = self.emit(Kind::Events, process.0, out);
        self.index.chunk(process.0, file_bytes, info, &sums);
        self.write_full_index(out);
        sums
    }

    /// Writes memory samples of a process.
    pub fn memory(&mut self, process: ProcessIndex, samples: &[MemorySample], out: &mut Vec<u8>) {
        for piece in samples.chunks(SAMPLES_PER_BLOCK) {
            self.raw.clear();
            records::put_memory(&mut self.raw, piece);
            self.listed(Kind::Memory, process.0, out);
        }
    }

    /// Writes samples of the heap under a process.
    pub fn heap(
        &mut self,
        process: ProcessIndex,
        info: &HeapInfo,
        samples: &[HeapSample],
        out: &mut Vec<u8>,
    ) {
        for piece in samples.chunks(HEAP_SAMPLES_PER_BLOCK) {
            self.raw.clear();
            heap_samples::put_samples(&mut self.raw, info, piece);
            self.listed(Kind::Heap, process.0, out);
        }
    }

    /// Writes of what the resident memory of a process was made.
    pub fn resident(&mut self, process: ProcessIndex, samples: &[ResidentSample], out: &mut Vec<u8>) {
        for piece in samples.chunks(HEAP_SAMPLES_PER_BLOCK) {
            self.raw.clear();
            resident::put_samples(&mut self.raw, piece);
            self.listed(Kind::Resident, process.0, out);
        }
    }

    /// Writes the head of a table of live blocks; [`Self::blocks`] writes its blocks.
    pub fn live(&mut self, process: ProcessIndex, table: &LiveTable, out: &mut Vec<u8>) {
        self.raw.clear();
        live_tables::put_table(&mut self.raw, table);
        self.listed(Kind::Live, process.0, out);
    }

    /// Writes blocks of the table of this number, in the order of their addresses, in one call or in several.
    pub fn blocks(&mut self, process: ProcessIndex, table: u32, blocks: &[LiveBlock], out: &mut Vec<u8>) {
        for piece in blocks.chunks(BLOCKS_MAX) {
            self.raw.clear();
            self.live.put(table, piece, &mut self.raw, &mut self.column_ends);
            self.listed(Kind::Blocks, process.0, out);
        }
    }

    /// Writes what a process had mapped beside a table of its live blocks; the map's own counts are not asked.
    pub fn memory_map(
        &mut self,
        process: ProcessIndex,
        map: &MemoryMap,
        (mappings, runs, free): (&[Mapping], &[PageRun], &[FreeRange]),
        out: &mut Vec<u8>,
    ) {
        let map = MemoryMap {
            mappings: mappings.len() as u64,
            runs: runs.len() as u64,
            free: free.len() as u64,
            ..map.clone()
        };
        self.raw.clear();
        memory_maps::put_head(&mut self.raw, &map);
        self.listed(Kind::MemoryMap, process.0, out);
        let pieces = mappings.len().div_ceil(MAPPINGS_MAX).max(runs.len().div_ceil(RUNS_MAX));
        let pieces = pieces.max(free.len().div_ceil(FREE_MAX));
        let piece = |at: usize, max: usize, len: usize| (at * max).min(len)..((at + 1) * max).min(len);
        for at in 0..pieces {
            let mappings = &mappings[piece(at, MAPPINGS_MAX, mappings.len())];
            let runs = &runs[piece(at, RUNS_MAX, runs.len())];
            self.raw.clear();
            let free = &free[piece(at, FREE_MAX, free.len())];
            memory_maps::put_piece(&mut self.raw, &map, (mappings, runs, free));
            self.listed(Kind::Pages, process.0, out);
        }
    }

    /// Writes how a process image ended.
    pub fn process_end(&mut self, process: ProcessIndex, end: &ProcessEnd, out: &mut Vec<u8>) {
        self.raw.clear();
        records::put_process_end(&mut self.raw, end);
        self.listed(Kind::ProcessEnd, process.0, out);
    }

    /// Writes sums over evicted events, of a process or of all those that are not in the trace.
    pub fn evicted(&mut self, process: Option<ProcessIndex>, evicted: &Evicted, out: &mut Vec<u8>) {
        self.raw.clear();
        evicted::put_evicted(&mut self.raw, evicted);
        self.listed(Kind::Evicted, process.map_or(NO_PROCESS, |process| process.0), out);
    }

    /// Writes names of code addresses.
    pub fn symbols(&mut self, modules: &[ModuleSymbols], out: &mut Vec<u8>) {
        symbols::put_symbols(modules, |payload| {
            self.raw = payload;
            self.listed(Kind::Symbols, NO_PROCESS, out);
        });
    }

    /// Copies a block of another trace as it is stored. A process block gets a new process number.
    pub fn splice(&mut self, process: ProcessIndex, piece: &Piece<'_>, out: &mut Vec<u8>) -> ProcessIndex {
        let process = if piece.kind == Kind::Process {
            self.processes += 1;
            ProcessIndex(self.processes - 1)
        } else {
            process
        };
        let file_bytes = piece.put(process.0, self.number, out);
        self.number = self.number.wrapping_add(1);
        self.bytes += file_bytes;
        self.index.piece(process.0, file_bytes, piece);
        self.write_full_index(out);
        process
    }

    /// Writes how the recording ended.
    pub fn session_end(&mut self, end: &SessionEnd, out: &mut Vec<u8>) {
        self.raw.clear();
        records::put_session_end(&mut self.raw, end);
        self.listed(Kind::SessionEnd, NO_PROCESS, out);
    }

    /// Ends the file with the rest of the index and the footer. Nothing can be written after it.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let index_offset = self.bytes;
        self.write_index(out);
        self.bytes += FOOTER_BYTES as u64;
        let footer = Footer { index_offset, file_bytes: self.bytes, blocks: self.number };
        out.extend_from_slice(&footer.encode());
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn listed(&mut self, kind: Kind, process: u32, out: &mut Vec<u8>) {
        let file_bytes = self.emit(kind, process, out);
        self.index.block(kind, process, file_bytes);
        self.write_full_index(out);
    }

    fn write_full_index(&mut self, out: &mut Vec<u8>) {
        if self.index.is_full() {
            self.write_index(out);
        }
    }

    fn write_index(&mut self, out: &mut Vec<u8>) {
        let offset = self.bytes;
        self.raw.clear();
        self.index.write(&mut self.raw);
        self.emit(Kind::Index, NO_PROCESS, out);
        self.index.begin(offset, self.bytes, self.number);
    }

    fn emit(&mut self, kind: Kind, process: u32, out: &mut Vec<u8>) -> u64 {
        let payload = Payload { raw: &self.raw, column_ends: &self.column_ends };
        let file_bytes = self.packer.block(kind, process, self.number, payload, out);
        self.column_ends.clear();
        self.number = self.number.wrapping_add(1);
        self.bytes += file_bytes;
        file_bytes
    }
}
