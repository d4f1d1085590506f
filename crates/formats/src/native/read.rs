//! Reads a trace: by its index when it is whole, else by a scan for blocks.

use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::Event;

use super::block::Kind;
use super::catalog::BlockOffsets;
use super::columns::{ChunkEvents, Columns, DecodeState};
use super::definitions::{self, damage, length_of};
use super::{chunk, heap_samples, live_tables, memory_maps, open, records, resident, symbols};
use crate::clock::{Calibration, Clock};
use crate::error::{Problem, TraceError};
use crate::model::{
    ChunkEntry, ChunkInfo, Evicted, FreeRange, HeapInfo, HeapSample, LiveBlock, LiveTable, Mapping,
    MemoryMap, MemorySample, ModuleSymbols, PageRun, Process, ProcessIndex, ProcessInfo, ResidentSample,
    SessionEnd, SessionInfo,
};
use crate::source::Source;

pub use super::load::Scratch;

/// A trace, opened. Reading from it takes `&self`, so that threads can share it, and a [`Scratch`] of
/// each thread's own. It holds about 250 bytes for each chunk of events.
#[derive(Debug)]
pub struct Trace<S> {
    source: S,
    session: Option<SessionInfo>,
    session_end: Option<SessionEnd>,
    processes: Vec<Process>,
    offsets: Vec<BlockOffsets>,
    chunks: Vec<ChunkEntry>,
    problems: Vec<Problem>,
    /// The first byte of parts that were skipped with events of which nobody knows how many there were, in this file or the
    /// one that it was made of. What is damaged of the blocks that the index lists is not among them: it has their counts.
    pub gap_at: Option<u64>,
    calibration: Calibration,
    some_info: ProcessInfo,
    evicted: Evicted,
    symbols: Vec<u64>,
    keeps_native: bool,
}

/// The events of a chunk.
#[derive(Debug)]
pub struct Chunk<'s> {
    /// The process that it belongs to.
    pub process: ProcessIndex,
    /// The thread that wrote it, and when.
    pub info: ChunkInfo,
    columns: Columns<'s>,
    state: &'s mut DecodeState,
    offset: u64,
}

impl<'s> Chunk<'s> {
    /// The events, each with the ticks since the one before it (`info.begin_ticks` for the first).
    pub fn events(self) -> ChunkEvents<'s> {
        self.columns.events(self.info.begin_ticks, self.state)
    }

    /// Calls `visit` with each event and its time in ticks.
    ///
    /// # Errors
    /// When bytes are no event; all events before them were visited.
    #[inline]
    pub fn for_each(self, mut visit: impl FnMut(u64, &Event)) -> Result<(), TraceError> {
        let (mut ticks, offset) = (self.info.begin_ticks, self.offset);
        for event in self.events() {
            let (dt, event) = event.map_err(|bad| TraceError::Damaged { offset, what: bad.why })?;
            ticks = ticks.wrapping_add(dt);
            visit(ticks, &event);
        }
        Ok(())
    }
}

impl<S: Source> Trace<S> {
    /// Opens a trace: by its index when it is whole, else by scanning it block for block. What had to be
    /// skipped is in [`Self::problems`].
    ///
    /// # Errors
    /// When the bytes are not a trace, are of a later version or cannot be read.
    pub fn open(source: S) -> Result<Trace<S>, TraceError> {
        let mut catalog = open::open(&source)?;
        let calibration = catalog.calibrate();
        let some_info = catalog.some_info();
        let (processes, offsets) = catalog.processes.into_values().unzip();
        Ok(Trace {
            source,
            session: catalog.session,
            session_end: catalog.session_end,
            processes,
            offsets,
            chunks: catalog.chunks,
            problems: catalog.problems,
            gap_at: catalog.gap_at,
            calibration,
            some_info,
            evicted: catalog.evicted,
            symbols: catalog.symbols,
            keeps_native: false,
        })
    }

    /// The frames of an interpreter's own code are to be shown, too, beside those of the code that it runs.
    pub fn keep_native(&mut self) {
        self.keeps_native = true;
    }

    /// Whether they are.
    pub fn keeps_native(&self) -> bool {
        self.keeps_native
    }

    /// What the recording was; `None` when that block is damaged.
    pub fn session(&self) -> Option<&SessionInfo> {
        self.session.as_ref()
    }

    /// How the recording ended; `None` when the trace was cut before.
    pub fn session_end(&self) -> Option<&SessionEnd> {
        self.session_end.as_ref()
    }

    /// The process images in the order of their numbers, those included of which only events can be read.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    fn place(&self, index: ProcessIndex) -> Option<usize> {
        self.processes.binary_search_by_key(&index, |p| p.index).ok()
    }

    /// The process image of this number.
    pub fn process(&self, index: ProcessIndex) -> Option<&Process> {
        self.place(index).map(|i| &self.processes[i])
    }

    /// The chunks of events, in the order of the file; those of one thread are in their own order.
    pub fn chunks(&self) -> &[ChunkEntry] {
        &self.chunks
    }

    /// What was skipped when the trace was opened. Damage inside a block that the index names shows when
    /// that block is read.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether the recorder finished the trace and nothing was skipped.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty()
    }

    /// Sums over the evicted events of processes of which the ring kept nothing; see [`Process::evicted`] for
    /// the others.
    pub fn evicted(&self) -> &Evicted {
        &self.evicted
    }

    /// When the trace starts, CLOCK_MONOTONIC ns: when its first program was started, or where that is not known, the
    /// first call in its first process. Times are since then.
    pub fn start_mono_ns(&self) -> u64 {
        self.calibration.start_mono_ns()
    }

    /// The same moment, ns since 1970; 0 when it is not known.
    pub fn start_real_ns(&self) -> u64 {
        let info = self.session().filter(|info| info.started_real_ns != 0);
        let of_session = info.map(|info| (info.started_mono_ns, info.started_real_ns));
        let of_process = |process: &Process| {
            let info = process.info.as_ref().filter(|info| info.created_real_ns != 0)?;
            Some((info.created_mono_ns, info.created_real_ns))
        };
        let known = of_session.or_else(|| self.processes().iter().find_map(of_process));
        let start = self.start_mono_ns();
        known.map_or(0, |(mono, real)| match start {
            0 => real, // of no process is it known when it began
            _ => real.saturating_add(start).saturating_sub(mono),
        })
    }

    /// From the start of the trace to the last record in it, ns.
    pub fn duration_ns(&self) -> u64 {
        let chunks = self.chunks.iter().map(|c| c.end_ns);
        let processes = self.processes.iter().filter_map(|p| p.end.as_ref()).map(|e| e.ended_mono_ns);
        let looks = self.processes.iter().flat_map(|p| &p.live).map(|table| table.mono_ns);
        let ends = processes.chain(looks).chain(self.session_end.as_ref().map(|e| e.ended_mono_ns));
        let ends = ends.map(|ns| ns.saturating_sub(self.start_mono_ns()));
        chunks.chain(ends).max().unwrap_or(0)
    }

    /// The clock of a process; one that is not known has that of the first one.
    pub fn clock(&self, process: ProcessIndex) -> Clock {
        let info = self.process(process).and_then(|p| p.info.as_ref());
        self.calibration.clock(info.unwrap_or(&self.some_info))
    }

    /// Calls `visit` with the definitions of a process, in order, each with the number of the next node (for
    /// a node its own), which is at most `wire::limits::STACKS_MAX`. These numbers never decrease; where a
    /// damaged block is missing they leave a gap. Returns what was skipped.
    ///
    /// # Errors
    /// Only when the source cannot be read.
    pub fn definitions(
        &self,
        process: ProcessIndex,
        scratch: &mut Scratch,
        visit: impl FnMut(StackId, &Definition<'_>),
    ) -> Result<Vec<Problem>, TraceError> {
        let offsets = self.place(process).map_or(&[][..], |i| &self.offsets[i].definitions);
        definitions::visit(&self.source, offsets, scratch, visit)
    }

    /// Calls `take` with the payloads of these blocks; false says that one is damaged. Returns what was skipped.
    fn payloads(
        &self,
        offsets: &[u64],
        kind: Kind,
        scratch: &mut Scratch,
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Problem>, TraceError> {
        let mut problems = Vec::new();
        for &offset in offsets {
            let what = match scratch.block(&self.source, offset, kind) {
                Ok((_, payload)) if take(payload) => continue,
                Ok(_) => kind.damaged(),
                Err(e) => damage(e)?,
            };
            problems.push(Problem { offset, skipped_bytes: length_of(&self.source, offset), what });
        }
        Ok(problems)
    }

    /// Calls `visit` with the memory samples of a process, in the order of the file. Returns what was skipped.
    ///
    /// # Errors
    /// Only when the source cannot be read.
    pub fn memory(
        &self,
        process: ProcessIndex,
        scratch: &mut Scratch,
        mut visit: impl FnMut(&MemorySample),
    ) -> Result<Vec<Problem>, TraceError> {
        let offsets = self.place(process).map_or(&[][..], |i| &self.offsets[i].memory);
        self.payloads(offsets, Kind::Memory, scratch, |payload| records::get_memory(payload, &mut visit))
    }

    /// Calls `visit` with the samples of what resident memory was made of, in the order of the file. Returns what was skipped.
    ///
    /// # Errors
    /// Only when the source cannot be read.
    pub fn resident(
        &self,
        process: ProcessIndex,
        scratch: &mut Scratch,
        mut visit: impl FnMut(&ResidentSample),
    ) -> Result<Vec<Problem>, TraceError> {
        let offsets = self.place(process).map_or(&[][..], |i| &self.offsets[i].resident);
        self.payloads(offsets, Kind::Resident, scratch, |payload| {
            resident::get_samples(payload, &mut visit).is_some()
        })
    }

    /// Calls `visit` with the samples of the heap under a process, in the order of the file. Returns what was
    /// skipped.
    ///
    /// # Errors
    /// Only when the source cannot be read.
    pub fn heap(
        &self,
        process: ProcessIndex,
        scratch: &mut Scratch,
        mut visit: impl FnMut(&HeapInfo, &HeapSample),
    ) -> Result<Vec<Problem>, TraceError> {
        let offsets = self.place(process).map_or(&[][..], |i| &self.offsets[i].heap);
        self.payloads(offsets, Kind::Heap, scratch, |payload| {
            heap_samples::get_samples(payload, &mut visit).is_some()
        })
    }

    /// Calls `visit` with the blocks of one of a process's tables, in the order of the file. Returns what was
    /// skipped.
    ///
    /// # Errors
    /// Only when the source cannot be read.
    pub fn blocks(
        &self,
        process: ProcessIndex,
        table: &LiveTable,
        scratch: &mut Scratch,
        mut visit: impl FnMut(&LiveBlock),
    ) -> Result<Vec<Problem>, TraceError> {
        let offsets = self.place(process).map_or(&[][..], |i| &self.offsets[i].blocks);
        let (mut problems, mut seen) = (Vec::new(), 0);
        for &offset in offsets {
            let what = match scratch.block(&self.source, offset, Kind::Blocks) {
                Ok((_, payload)) if live_tables::table_of(payload).is_some_and(|n| n != table.number) => {
                    continue;
                }
                Ok((_, payload)) => match live_tables::get_blocks(payload, &mut visit) {
                    Some(n) => {
                        seen += n;
                        continue;
                    }
                    None => Kind::Blocks.damaged(),
                },
                Err(e) => damage(e)?,
            };
            problems.push(Problem { offset, skipped_bytes: length_of(&self.source, offset), what });
        }
        if seen != table.blocks && problems.is_empty() {
            let what = "blocks that were live are missing";
            problems.push(Problem { offset: self.source.len(), skipped_bytes: 0, what });
        }
        Ok(problems)
    }

    /// Calls `take` with the mappings, pages and free ranges of one of a process's memory maps, each in the order of
    /// the file. Returns what was skipped.
    ///
    /// # Errors
    /// Only when the source cannot be read.
    pub fn memory_map(
        &self,
        process: ProcessIndex,
        map: &MemoryMap,
        scratch: &mut Scratch,
        mut take: (impl FnMut(Mapping), impl FnMut(PageRun), impl FnMut(FreeRange)),
    ) -> Result<Vec<Problem>, TraceError> {
        let offsets = self.place(process).map_or(&[][..], |i| &self.offsets[i].pages);
        let (mut problems, mut seen) = (Vec::new(), [0u64; 3]);
        for &offset in offsets {
            let what = match scratch.block(&self.source, offset, Kind::Pages) {
                Ok((_, piece)) if memory_maps::table_of(piece).is_some_and(|n| n != map.table) => continue,
                Ok((_, piece)) => {
                    let visitors = (&mut take.0, &mut take.1, &mut take.2);
                    match memory_maps::get_piece(piece, map.page_bytes, visitors) {
                        Some(found) => {
                            seen.iter_mut().zip(found).for_each(|(sum, n)| *sum += n);
                            continue;
                        }
                        None => Kind::Pages.damaged(),
                    }
                }
                Err(e) => damage(e)?,
            };
            problems.push(Problem { offset, skipped_bytes: length_of(&self.source, offset), what });
        }
        if seen != [map.mappings, map.runs, map.free] && problems.is_empty() {
            let what = "mappings or pages of the memory map are missing";
            problems.push(Problem { offset: self.source.len(), skipped_bytes: 0, what });
        }
        Ok(problems)
    }

    /// Whether it has names of code addresses.
    pub fn has_symbols(&self) -> bool {
        !self.symbols.is_empty()
    }

    /// Calls `visit` with the names of code addresses, by module; a module may come several times. Returns what was
    /// skipped.
    ///
    /// # Errors
    /// Only when the source cannot be read.
    pub fn symbols(
        &self,
        scratch: &mut Scratch,
        mut visit: impl FnMut(ModuleSymbols),
    ) -> Result<Vec<Problem>, TraceError> {
        self.payloads(&self.symbols, Kind::Symbols, scratch, |payload| {
            symbols::get_symbols(payload, &mut visit).is_some()
        })
    }

    /// Reads the events of a chunk.
    ///
    /// # Errors
    /// When the block is damaged, is not the one that the index lists, or cannot be read.
    pub fn load_chunk<'s>(
        &self,
        entry: &ChunkEntry,
        scratch: &'s mut Scratch,
    ) -> Result<Chunk<'s>, TraceError> {
        let offset = entry.offset;
        let (header, payload, state) = scratch.chunk(&self.source, offset)?;
        let damaged = TraceError::Damaged { offset, what: Kind::Events.damaged() };
        let (info, _, columns) = chunk::split(payload).ok_or(damaged)?;
        if header.number != entry.number || header.process != entry.process.0 || info != entry.info {
            return Err(TraceError::Damaged { offset, what: "another chunk than the index says" });
        }
        Ok(Chunk { process: entry.process, info, columns, state, offset })
    }
}
