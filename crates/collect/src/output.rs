//! The output of all sessions of a recording: the trace or the memtrace files, and the summary.

use std::path::Path;

use heapscribe_analyze::answer::Amount;
use heapscribe_formats::model::{
    ChunkInfo, HeapInfo, HeapSample, LiveRole, MemorySample, ProcessEnd, ProcessIndex, ProcessInfo,
    ResidentSample, SessionEnd, SessionInfo,
};
use heapscribe_formats::{ChunkSums, DefinitionsTaken, EndedImages};
use heapscribe_wire::chunk::Header;
use heapscribe_wire::definitions::{Definition, Position};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::limits::CHUNK_PAYLOAD_BYTES;

use crate::annotations_seen::AnnotationsSeen;
use crate::first_chunks::FirstChunks;
use crate::heartbeats::Heartbeats;
use crate::memtrace::{FilesPlan, Memtrace, Written};
use crate::pace::Pace;
use crate::sink::Sink;
use crate::summary::Summary;
use crate::tap::{SharedTap, Tap};
use heapscribe_convert::ring::Limits;
use heapscribe_session::SessionKey;
use heapscribe_session::heap_statistics::ListedHeaps;
use heapscribe_session::inspect::Snapshot;
use heapscribe_session::jit::TickLine;

/// The output of a recording.
enum To {
    /// Into one trace of ours.
    Native(Box<Sink>),
    /// Into files of memtrace.
    Memtrace(Memtrace),
}

/// What the sessions share, so that each is small: there may be thousands.
pub(super) struct Output {
    to: To,
    pub(super) summary: Summary,
    pub(super) pace: Pace,
    pub(super) heartbeats: Heartbeats,
    /// Files of heaps, as they were in this pass.
    pub(super) heaps: ListedHeaps,
    /// Who looks on.
    tap: Option<SharedTap>,
    /// What looks at memory wait for.
    pub(super) annotations: AnnotationsSeen,
    /// Room for the copy of a chunk.
    pub(super) chunk: Vec<u8>,
}

impl Output {
    /// Into a new file at `trace`, compressed at `level` when there is time.
    pub(super) fn create(
        trace: &Path,
        level: i32,
        log_chunks: Option<u32>,
        info: &SessionInfo,
        ring: Option<Limits>,
    ) -> anyhow::Result<Output> {
        let sink = Sink::create(trace, level, info, ring)?;
        let mut output = Output::new(To::Native(Box::new(sink)), level, log_chunks);
        output.summary.began(info.started_mono_ns);
        Ok(output)
    }

    /// Into files of memtrace.
    pub(super) fn memtrace(plan: FilesPlan, log_chunks: Option<u32>) -> anyhow::Result<Output> {
        Ok(Output::new(To::Memtrace(Memtrace::start(plan)?), 0, log_chunks))
    }

    fn new(to: To, level: i32, log_chunks: Option<u32>) -> Output {
        let chunk = vec![0; CHUNK_PAYLOAD_BYTES];
        let (pace, heartbeats) = (Pace::new(level, log_chunks), Heartbeats::default());
        let (heaps, annotations) = (ListedHeaps::default(), AnnotationsSeen::default());
        Output { to, summary: Summary::default(), pace, heartbeats, heaps, tap: None, annotations, chunk }
    }

    /// Leaves it to others to print what goes wrong with the trace.
    pub(super) fn print_nothing(&mut self) {
        if let To::Native(sink) = &mut self.to {
            sink.is_quiet = true;
        }
    }

    /// Has somebody look on.
    pub(super) fn tap(&mut self, tap: SharedTap) {
        self.tap = Some(tap);
    }

    fn pass_by(&self, what: impl FnOnce(&mut dyn Tap)) {
        if let Some(tap) = &self.tap {
            what(&mut *tap.borrow_mut());
        }
    }

    /// Notes in the summary whether this process makes any call.
    pub(super) fn watch(&mut self, pid: u32) {
        self.summary.watched_pid = pid;
        if let To::Memtrace(files) = &self.to {
            files.watch(pid);
        }
    }

    /// Writes a process image, and gives its number.
    pub(super) fn process(&mut self, info: &ProcessInfo) -> ProcessIndex {
        let process = match &mut self.to {
            To::Native(sink) => sink.write(|writer, out| writer.process(info, out)),
            To::Memtrace(files) => files.process(info),
        };
        self.pass_by(|tap| tap.process(process, info));
        process
    }

    /// Takes definitions up to the first that is none; `see` sees each that is taken.
    pub(super) fn definitions(
        &mut self,
        process: ProcessIndex,
        position: Position,
        bytes: &[u8],
        mut see: impl FnMut(&Definition<'_>),
    ) -> DefinitionsTaken {
        let mut is_sampled = false;
        let mut see = |definition: &Definition<'_>| {
            is_sampled |= matches!(definition, Definition::Rate { .. });
            see(definition);
        };
        let taken = match &mut self.to {
            To::Native(sink) => {
                sink.write(|writer, out| writer.definitions_seen(process, position, bytes, out, &mut see))
            }
            To::Memtrace(files) => files.definitions(process, position, bytes, &mut see),
        };
        if is_sampled {
            self.summary.sampled(process);
        }
        self.pass_by(|tap| tap.definitions(process, position, &bytes[..taken.bytes]));
        taken
    }

    /// The chunks that come are open ones of a process with this clock; or sealed ones again.
    pub(super) fn set_clock(&mut self, clock: Option<TickLine>) {
        if let To::Native(sink) = &mut self.to {
            sink.clock = clock;
        }
    }

    /// Takes events up to the first that is none.
    pub(super) fn events(&mut self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]) -> ChunkSums {
        self.pass_by(|tap| tap.events(process, info, payload));
        self.annotations.chunk(process, info, payload, false);
        match &mut self.to {
            To::Native(sink) => sink.events(process, info, payload),
            To::Memtrace(files) => files.events(process, info, payload),
        }
    }

    /// Whether it is time to write what open chunks hold: files of memtrace are to be whole up to a second
    /// ago at any moment, while ours can be had from the session itself.
    pub(super) fn wants_open(&mut self) -> bool {
        match &mut self.to {
            To::Native(_) => self.annotations.wants_open(),
            To::Memtrace(files) => files.wants_open(),
        }
    }

    /// Takes the events that an open chunk holds so far.
    pub(super) fn open_events(&mut self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8]) {
        self.pass_by(|tap| tap.events(process, info, payload));
        self.annotations.chunk(process, info, payload, true);
        if let To::Memtrace(files) = &mut self.to {
            files.open_events(process, info, payload);
        }
    }

    /// Takes memory samples, which memtrace has no room for.
    pub(super) fn memory(&mut self, process: ProcessIndex, samples: &[MemorySample]) {
        if let To::Native(sink) = &mut self.to {
            sink.write(|writer, out| writer.memory(process, samples, out));
        }
    }

    /// Takes of what the resident memory of a process is made, which memtrace has no room for. It is rare, and in the
    /// file at once.
    pub(super) fn resident(&mut self, process: ProcessIndex, sample: &ResidentSample) {
        if let To::Native(sink) = &mut self.to {
            sink.write(|writer, out| writer.resident(process, std::slice::from_ref(sample), out));
        }
        self.flush();
    }

    /// Takes samples of the heap under a process, which memtrace has no room for.
    pub(super) fn heap(&mut self, process: ProcessIndex, info: &HeapInfo, samples: &[HeapSample]) {
        if let To::Native(sink) = &mut self.to {
            sink.write(|writer, out| writer.heap(process, info, samples, out));
        }
    }

    /// Takes the end of a process image, after which its session may go: what its table of live blocks has, when that was read, whether it made any
    /// call and was killed, so that only when its end was seen is known, and how it ended.
    pub(super) fn image_ended(
        &mut self,
        process: ProcessIndex,
        key: SessionKey,
        table: Option<Amount>,
        (has_calls, is_killed): (bool, bool),
        mut end: ProcessEnd,
    ) {
        let summary = &mut self.summary;
        summary.stopped += u64::from(end.broke.is_some());
        summary.watched_has_calls |= has_calls && key.pid == summary.watched_pid;
        if let To::Native(sink) = &self.to {
            end.drops[LossReason::NotWritten as usize] = sink.unwritten_events(process);
        }
        end.peak = summary.level.own_peak(process).filter(|_| !summary.is_rest);
        let figures = summary.process(process, table, &end);
        self.pass_by(|tap| tap.ended(process, &end));
        self.annotations.ended(process);
        let figures = EndedImages { first_mono_ns: key.created_mono_ns, ..figures };
        match &mut self.to {
            To::Native(sink) => {
                sink.process_end(process, &end, is_killed, &figures);
                // Should we be killed, its events are in the trace, or in the session.
                sink.flush();
            }
            To::Memtrace(files) => files.process_end(process),
        }
        self.pass_by(|tap| tap.commit());
    }

    /// Writes that events of a process are not in this trace, which left live what its table has and its events do not.
    pub(super) fn begins_late(&mut self, process: ProcessIndex, first: FirstChunks, table: Option<Amount>) {
        let evicted = first.missing(self.summary.level.net(process), table);
        self.summary.is_rest = true;
        if let To::Native(sink) = &mut self.to {
            sink.write(|writer, out| writer.evicted(Some(process), &evicted, out));
        }
    }

    /// Whether only the newest events are retained, from which what is live cannot be known.
    pub(super) fn is_ring(&self) -> bool {
        matches!(&self.to, To::Native(sink) if sink.is_ring())
    }

    /// Writes what is live in a process, under this number of its tables; gives what is in its heap, and what makes
    /// no sense in it.
    pub(super) fn live(
        &mut self,
        process: ProcessIndex,
        snapshot: &Snapshot,
        number: u32,
        role: LiveRole,
    ) -> (Amount, Vec<String>) {
        let (mut live, (table, problems)) = (Amount::default(), snapshot.table(number, role));
        if let To::Native(sink) = &mut self.to {
            sink.write(|writer, out| writer.live(process, &table, out));
        }
        snapshot.pieces(|blocks| {
            for block in blocks.iter().filter(|block| !block.is_pool) {
                live.blocks += 1;
                live.bytes = live.bytes.saturating_add(block.size_bytes);
            }
            if let To::Native(sink) = &mut self.to {
                sink.write(|writer, out| writer.blocks(process, number, blocks, out));
            }
        });
        (live, problems)
    }

    /// A pass of the drainer is over.
    pub(super) fn passed(&mut self) {
        if let To::Native(sink) = &mut self.to {
            sink.passed();
        }
    }

    /// How hard there is time to compress these chunks of a log, which are full, of so many.
    pub(super) fn level_for(&mut self, full: &[(usize, Header)], in_use: usize) -> i32 {
        self.pace.level_for(full, in_use)
    }

    /// Compresses what follows so hard.
    pub(super) fn set_level(&mut self, level: i32) {
        if let To::Native(sink) = &mut self.to {
            sink.set_level(level);
        }
    }

    /// Brings what was gathered into the file. Packets of memtrace are written by their own rules.
    pub(super) fn flush(&mut self) {
        if let To::Native(sink) = &mut self.to {
            sink.flush();
        }
        self.pass_by(|tap| tap.commit());
    }

    /// The chunks of a process that were taken so far are in its session no more: these, by thread and number.
    pub(super) fn freed(&mut self, process: ProcessIndex, chunks: &[(u32, u64)]) {
        self.pass_by(|tap| tap.freed(process, chunks));
        if let To::Native(sink) = &mut self.to {
            sink.freed(process);
        }
    }

    /// Where the file begins to which a process wrote chunks itself, for who looks on; `None` where nobody does, for whom
    /// its chunks have time until the process ends.
    pub(super) fn spilled(&self, process: ProcessIndex) -> Option<u64> {
        self.tap.as_ref().map(|tap| tap.borrow().spilled(process))
    }

    /// That file has been taken up to here, and these chunks, by thread and number, are nowhere else.
    pub(super) fn has_spilled(&mut self, process: ProcessIndex, bytes: u64, chunks: &[(u32, u64)]) {
        self.pass_by(|tap| tap.has_spilled(process, bytes));
        self.flush();
        self.pass_by(|tap| tap.freed(process, chunks));
    }

    /// Ends the recording; the summary, and what went wrong, if anything.
    pub(super) fn finish(self, end: &SessionEnd) -> (Summary, Option<String>) {
        let mut summary = self.summary;
        match self.to {
            To::Native(mut sink) => {
                let failure = sink.finish(end);
                summary.take_off(&sink.unwritten());
                summary.trace_bytes = sink.bytes();
                summary.evicted = sink.evicted();
                summary.crowded_ring = sink.crowded_ring();
                (summary, failure)
            }
            To::Memtrace(files) => {
                let written = files.finish();
                summary.drainer = self.pace.statistics();
                let is_cut = |written: &&Written| written.is_cut;
                let failure = written.iter().find(is_cut).map(|w| w.path.display().to_string());
                summary.trace_bytes = written.iter().map(|written| written.bytes).sum();
                summary.written = written;
                (summary, failure)
            }
        }
    }
}
