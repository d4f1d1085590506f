//! The catalog of a trace: filled block by block, from the index or by a scan.

use std::collections::BTreeMap;

use super::block::{Kind, NO_PROCESS};
use super::{evicted, live_tables, memory_maps, records};
use crate::clock::Calibration;
use crate::error::Problem;
use crate::model::{ChunkEntry, Evicted, Process, ProcessIndex, ProcessInfo, SessionEnd, SessionInfo};

/// Offsets of the blocks of a process that are read on demand.
#[derive(Debug, Default)]
pub(super) struct BlockOffsets {
    pub definitions: Vec<u64>,
    pub memory: Vec<u64>,
    pub heap: Vec<u64>,
    pub blocks: Vec<u64>,
    pub pages: Vec<u64>,
    pub resident: Vec<u64>,
}

/// What a trace holds, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    pub session: Option<SessionInfo>,
    pub session_end: Option<SessionEnd>,
    pub processes: BTreeMap<u32, (Process, BlockOffsets)>,
    pub chunks: Vec<ChunkEntry>,
    pub problems: Vec<Problem>,
    /// Where events are missing of which nobody knows how many there were: the first such byte.
    pub gap_at: Option<u64>,
    /// Sums over the evicted events of processes of which the ring kept nothing.
    pub evicted: Evicted,
    /// Offsets of the blocks with names of addresses.
    pub symbols: Vec<u64>,
}

impl Catalog {
    pub(super) fn problem(&mut self, offset: u64, skipped_bytes: u64, what: &'static str) {
        self.problems.push(Problem { offset, skipped_bytes, what });
    }

    /// Notes that events are missing here of which nobody knows how many there were.
    pub(super) fn gap(&mut self, offset: u64) {
        self.gap_at = Some(self.gap_at.map_or(offset, |first| first.min(offset)));
    }

    fn process(&mut self, index: u32) -> &mut (Process, BlockOffsets) {
        let new = || (Process { index: ProcessIndex(index), ..Process::default() }, BlockOffsets::default());
        self.processes.entry(index).or_insert_with(new)
    }

    /// Whether a block of this kind can belong to this process, or to none.
    pub(super) fn belongs(kind: Kind, process: u32) -> bool {
        let of_none = matches!(kind, Kind::Session | Kind::SessionEnd | Kind::Index | Kind::Symbols);
        // Evicted events may be of processes that are not in the trace.
        of_none == (process == NO_PROCESS) || kind == Kind::Evicted
    }

    /// Decodes a small block and keeps it; `None` when its payload is invalid.
    pub(super) fn record(&mut self, kind: Kind, process: u32, payload: &[u8]) -> Option<()> {
        match kind {
            Kind::Session => self.session = Some(records::get_session(payload)?),
            Kind::SessionEnd => self.session_end = Some(records::get_session_end(payload)?),
            Kind::Process => self.process(process).0.info = Some(records::get_process(payload)?),
            Kind::Live => self.process(process).0.live.push(live_tables::get_table(payload)?),
            Kind::MemoryMap => self.process(process).0.memory_maps.push(memory_maps::get_head(payload)?),
            Kind::ProcessEnd => self.process(process).0.end = Some(records::get_process_end(payload)?),
            Kind::Evicted => {
                let evicted = evicted::get_evicted(payload)?;
                let sums = if process == NO_PROCESS {
                    &mut self.evicted
                } else {
                    &mut self.process(process).0.evicted
                };
                sums.merge(&evicted);
            }
            _ => {}
        }
        Some(())
    }

    /// Records the offset of a block that is read on demand.
    pub(super) fn record_offset(&mut self, kind: Kind, process: u32, offset: u64) {
        match kind {
            Kind::Definitions => self.process(process).1.definitions.push(offset),
            Kind::Memory => self.process(process).1.memory.push(offset),
            Kind::Heap => self.process(process).1.heap.push(offset),
            Kind::Blocks => self.process(process).1.blocks.push(offset),
            Kind::Pages => self.process(process).1.pages.push(offset),
            Kind::Resident => self.process(process).1.resident.push(offset),
            Kind::Symbols => self.symbols.push(offset),
            _ => {}
        }
    }

    /// Takes an events block; its times are set by [`Self::calibrate`], when all clocks are known.
    pub(super) fn chunk(&mut self, entry: ChunkEntry) {
        self.process(entry.process.0);
        self.chunks.push(entry);
    }

    /// Stands in for the info of a process whose own is missing: the first one that is known.
    pub(super) fn some_info(&self) -> ProcessInfo {
        self.processes.values().find_map(|(p, _)| p.info.clone()).unwrap_or_default()
    }

    /// Gathers the clocks of all and sets the times of the chunks.
    pub(super) fn calibrate(&mut self) -> Calibration {
        let some = self.some_info();
        let mut calibration = Calibration::default();
        self.processes.values().filter_map(|(p, _)| p.info.as_ref()).for_each(|i| calibration.process(i));
        calibration.began(self.evicted.ended.first_mono_ns);
        // The first process is known from its first call on, which may be long after its start.
        calibration.began(self.session.as_ref().map_or(0, |session| session.started_mono_ns));
        for (process, _) in self.processes.values() {
            let info = process.info.as_ref().unwrap_or(&some);
            process.live.iter().for_each(|table| calibration.live(info, table));
        }
        for chunk in &self.chunks {
            let info = self.processes.get(&chunk.process.0).and_then(|(p, _)| p.info.as_ref());
            calibration.chunk(info.unwrap_or(&some), &chunk.info);
        }
        for chunk in &mut self.chunks {
            let info = self.processes.get(&chunk.process.0).and_then(|(p, _)| p.info.as_ref());
            let clock = calibration.clock(info.unwrap_or(&some));
            chunk.begin_ns = clock.time_ns(&chunk.info, chunk.info.begin_ticks);
            let end_ns = match chunk.info.end_mono_ns {
                0 => clock.time_ns(&chunk.info, chunk.sums.last_ticks),
                ns => ns.saturating_sub(calibration.start_mono_ns()),
            };
            chunk.end_ns = end_ns.max(chunk.begin_ns);
        }
        calibration
    }
}
