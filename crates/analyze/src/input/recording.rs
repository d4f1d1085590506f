//! A trace as a history: processes by their place in the list, times on CLOCK_MONOTONIC, and for each
//! process one straight clock, which those that share a counter share, too.

use std::collections::HashMap;

use heapscribe_formats::{
    ChunkEntry, ExitStatus, HowEnded, LiveBlock, LiveRole, LiveTable, Process, ProcessEnd, ProcessIndex,
    ProcessInfo, Scratch, Source, Stage, Trace,
};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{BadEvent, Event};

use super::clock::Clock;
use super::facts::{ChunkFacts, ProcessFacts, SessionFacts, TableMoment};
use super::history::{EventsInOrder, History};
use super::inherited::inherit;
use super::live_before::{self, LiveBefore};
use super::samples::ProcessSamples;
use crate::answer::{EarlyTimes, Ended, Exit, StackCheck};

/// A trace, to be analyzed.
#[derive(Debug)]
pub struct Recording<'t, S> {
    trace: &'t Trace<S>,
    indices: HashMap<ProcessIndex, usize>,
    /// The same by pid and creation.
    images: HashMap<(u32, u64), usize>,
    processes: Vec<ProcessFacts>,
    /// What was live before the events, as events.
    before: Vec<LiveBefore>,
    /// Samples and blocks that cannot be read, in words.
    unread: Vec<String>,
}

impl<'t, S: Source + Sync> Recording<'t, S> {
    /// Over an open trace, of which samples and tables of live blocks are read here, once.
    pub fn new(trace: &'t Trace<S>) -> Self {
        let indices = trace.processes().iter().enumerate().map(|(i, p)| (p.index, i)).collect();
        let infos = trace.processes().iter().enumerate().filter_map(|(i, p)| Some((i, p.info.as_ref()?)));
        // Of two that are alike the first.
        let images = infos.rev().map(|(i, info)| ((info.pid, info.created_mono_ns), i)).collect();
        let (processes, before, unread) = (Vec::new(), Vec::new(), Vec::new());
        let mut recording = Recording { trace, indices, images, processes, before, unread };
        for process in trace.processes() {
            let mut samples = ProcessSamples::read(trace, process.index);
            recording.unread.append(&mut samples.problems);
            let facts = recording.facts(process, samples);
            recording.processes.push(facts);
        }
        recording.end_after_events();
        inherit(&mut recording.processes);
        let (before, mut unread) = live_before::read(trace);
        recording.before = before;
        recording.unread.append(&mut unread);
        recording
    }

    fn facts(&self, process: &Process, samples: ProcessSamples) -> ProcessFacts {
        let info = process.info.clone().unwrap_or_default();
        let end = process.end.clone().unwrap_or_default();
        let clock = self.clock(process);
        ProcessFacts {
            pid: info.pid,
            parent_pid: info.parent_pid,
            parent: self.parent(&info),
            is_fork: info.stage == Stage::Forked,
            begin_mono_ns: begin_ns(&info, &clock),
            end_mono_ns: self.next_image(&info, &end).unwrap_or(end.ended_mono_ns),
            ended: ended(end.how),
            is_unfinished: process.end.is_none(),
            gap_at: self.trace.gap_at,
            early_times: self.early_times(&info, &end, &clock),
            clock,
            counts_calls: info.counts_calls,
            drops: end.drops,
            recorder_bytes: end.own_bytes,
            stack_check: StackCheck { verified: end.stacks_verified, different: end.stacks_different },
            rss: samples.rss,
            inherited_bytes: 0,
            heap: samples.heap,
            resident: samples.resident,
            peak: end.peak,
            evicted: process.evicted,
            off: end.off_periods().collect(),
            broke: end.broke,
            exe: info.exe,
            command: info.command,
        }
    }

    /// When the image began that an image became by exec, where its events begin: blocks of the two are never live together.
    fn next_image(&self, info: &ProcessInfo, end: &ProcessEnd) -> Option<u64> {
        let key = (info.pid, end.ended_mono_ns);
        let next = self.images.get(&key).filter(|_| end.how == HowEnded::Execed)?;
        let next = &self.trace.processes()[*next];
        Some(begin_ns(next.info.as_ref()?, &self.clock(next)))
    }

    /// Where the times of a process are early: of those that are, all have one pid.
    fn early_times(&self, info: &ProcessInfo, end: &ProcessEnd, clock: &Clock) -> Option<EarlyTimes> {
        if info.early_ns == 0 {
            return None;
        }
        let noticed = Some(end.exact_from_ticks).filter(|&ticks| ticks > 0);
        let early =
            EarlyTimes { ns: u64::from(info.early_ns), until_ns: noticed.map(|ticks| clock.ns(ticks)) };
        let all = self.trace.processes().iter().filter_map(|of| Some((of, of.info.as_ref()?)));
        let later = |(_, of): &(&Process, &ProcessInfo)| {
            of.pid != info.pid && of.created_mono_ns > info.created_mono_ns
        };
        let next = all.filter(later).min_by_key(|(_, of)| of.created_mono_ns);
        Some(early.until(next.map(|(process, of)| begin_ns(of, &self.clock(process)))))
    }

    /// A process that was found dead ended after its last event.
    fn end_after_events(&mut self) {
        for entry in self.trace.chunks() {
            let chunk = self.chunk(entry);
            if let Some(process) = self.processes.get_mut(chunk.process)
                && let Some(end_ns) = process.end_ns(Some(process.clock.ns(chunk.last_ticks)))
            {
                process.end_mono_ns = end_ns;
            }
        }
    }

    /// The first moment after all events that are not there.
    fn window_mono_ns(&self) -> u64 {
        let of_processes = self.trace.processes().iter().map(|process| process.evicted.until_mono_ns);
        match of_processes.fold(self.trace.evicted().until_mono_ns, u64::max) {
            0 => 0,
            until_ns => until_ns.saturating_add(1),
        }
    }

    /// The table of what was live at the end of a process, or of its recording.
    fn table_at_end(process: &Process) -> Option<&LiveTable> {
        let is_abandoned = process.end.as_ref().is_some_and(|end| end.how == HowEnded::Abandoned);
        let is_of_end = |table: &&LiveTable| match table.role {
            LiveRole::After => true,
            LiveRole::Snapshot => is_abandoned && table.name.is_empty(),
            LiveRole::Before => false,
        };
        // One that is of no instant agrees with no events.
        process.live.iter().rfind(is_of_end).filter(|table| table.inexact.is_empty())
    }

    fn parent(&self, child: &ProcessInfo) -> Option<usize> {
        let parent = (child.parent_pid, child.parent_created_mono_ns);
        self.images.get(&parent).copied().filter(|_| child.parent_created_mono_ns != 0)
    }

    /// The line goes through the first beginning of those that share a counter, else through the process's own or, when
    /// that is lost, through its first chunk's.
    fn clock(&self, process: &Process) -> Clock {
        let clock = self.trace.clock(process.index);
        let first = || self.trace.chunks().iter().find(|entry| entry.process == process.index);
        let of_first = || first().map(|entry| (entry.info.begin_ticks, entry.info.begin_mono_ns));
        let (origin_ticks, origin_ns) = match &process.info {
            Some(info) => clock.origin().unwrap_or((info.created_ticks, info.created_mono_ns)),
            None => of_first().unwrap_or_default(),
        };
        let ns_per_tick_q32 = ((clock.resolution_ns() * (1u64 << 32) as f64) as u64).clamp(1, 1 << 50);
        let unit_shift = process.info.as_ref().map_or(0, |info| info.clock_shift);
        Clock { origin_ticks, origin_ns, ns_per_tick_q32, unit_shift }
    }

    fn chunk(&self, entry: &ChunkEntry) -> ChunkFacts {
        ChunkFacts {
            // A process that the trace does not list is one that no pass asks for.
            process: self.indices.get(&entry.process).copied().unwrap_or(usize::MAX),
            thread: entry.info.thread,
            begin_ticks: entry.info.begin_ticks,
            last_ticks: entry.sums.last_ticks.max(entry.info.begin_ticks),
            last_alloc_ticks: entry.info.last_alloc_ticks,
            events: u64::from(entry.sums.events),
            is_made_up: false,
        }
    }
}

/// Events of a chunk of the trace, or of one that is made up.
enum ChunkEvents<R, S> {
    Recorded(R),
    MadeUp(S),
}

impl<R, S> Iterator for ChunkEvents<R, S>
where
    R: Iterator<Item = Result<(u64, Event), BadEvent>>,
    S: Iterator<Item = (u64, Event)>,
{
    type Item = Result<(u64, Event), BadEvent>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            ChunkEvents::Recorded(events) => events.next(),
            ChunkEvents::MadeUp(events) => events.next().map(Ok),
        }
    }
}

/// When a process began, on the clock of its events.
fn begin_ns(info: &ProcessInfo, clock: &Clock) -> u64 {
    if info.created_ticks == 0 { info.created_mono_ns } else { clock.ns(info.created_ticks) }
}

fn ended(how: HowEnded) -> Ended {
    match how {
        HowEnded::Exited => Ended::Exited,
        HowEnded::Killed(signal) => Ended::Killed(signal),
        HowEnded::Unseen => Ended::Unseen,
        HowEnded::Execed => Ended::Execed,
        HowEnded::Abandoned => Ended::Abandoned,
        HowEnded::Unknown => Ended::Unknown,
    }
}

impl<S: Source + Sync> History for Recording<'_, S> {
    type Scratch = Scratch;

    fn session(&self) -> SessionFacts {
        let info = self.trace.session().cloned().unwrap_or_default();
        let end = self.trace.session_end().cloned().unwrap_or_default();
        // Moment 0 of all answers is the creation of the first process, of whichever of them they are.
        let (begin_mono_ns, begin_real_ns) = match self.trace.start_mono_ns() {
            0 if self.processes.is_empty() => (info.started_mono_ns, info.started_real_ns),
            known => (known, self.trace.start_real_ns()),
        };
        SessionFacts {
            begin_mono_ns,
            begin_real_ns,
            end_mono_ns: end.ended_mono_ns,
            drainer: end.drainer,
            unrecorded: end.unrecorded,
            evicted: *self.trace.evicted(),
            window_mono_ns: self.window_mono_ns(),
            exit: end.exit.map(|exit| match exit {
                ExitStatus::Code(code) => Exit::Code(code),
                ExitStatus::Signal(signal) => Exit::Signal(signal),
            }),
            command: info.command,
            host: info.host,
            version: info.version,
            rules: info.rules,
            is_unfinished: !self.trace.is_complete(),
        }
    }

    fn processes(&self) -> Vec<ProcessFacts> {
        self.processes.clone()
    }

    fn chunks(&self) -> Vec<ChunkFacts> {
        let recorded = self.trace.chunks().iter().map(|entry| self.chunk(entry));
        recorded.chain(self.before.iter().map(LiveBefore::chunk)).collect()
    }

    fn events<'a>(
        &'a self,
        chunk: usize,
        scratch: &'a mut Scratch,
    ) -> Result<impl EventsInOrder + 'a, String> {
        match self.trace.chunks().get(chunk) {
            Some(entry) => {
                let loaded = self.trace.load_chunk(entry, scratch);
                loaded.map(|chunk| ChunkEvents::Recorded(chunk.events())).map_err(|error| error.to_string())
            }
            None => Ok(ChunkEvents::MadeUp(self.before[chunk - self.trace.chunks().len()].events())),
        }
    }

    fn keeps_native(&self) -> bool {
        self.trace.keeps_native()
    }

    fn definitions(
        &self,
        process: usize,
        take: &mut dyn FnMut(StackId, &Definition<'_>),
    ) -> Result<(), String> {
        let index = self.trace.processes()[process].index;
        let read = self.trace.definitions(index, &mut Scratch::default(), take);
        let problems = read.map_err(|error| error.to_string())?;
        match &problems[..] {
            [] => Ok(()),
            some => Err(some.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        }
    }

    fn live_at_end(
        &self,
        process: usize,
        take: &mut dyn FnMut(&LiveBlock),
    ) -> Result<Option<TableMoment>, String> {
        let process = &self.trace.processes()[process];
        let Some(table) = Self::table_at_end(process) else { return Ok(None) };
        let read = self.trace.blocks(process.index, table, &mut Scratch::default(), |block| take(block));
        match &read.map_err(|error| error.to_string())?[..] {
            [] => Ok(Some(TableMoment { ticks: table.ticks, is_after_all: table.role == LiveRole::After })),
            some => Err(some.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        }
    }

    fn problems(&self) -> Vec<String> {
        let lost = |process: &Process| {
            let note = process.end.as_ref().map(|end| end.lost_note.clone()).filter(|note| !note.is_empty());
            note.map(|note| format!("process {}: {note}", process.info.as_ref().map_or(0, |info| info.pid)))
        };
        let skipped = self.trace.problems().iter().map(ToString::to_string);
        let unread = self.unread.iter().cloned();
        skipped.chain(unread).chain(self.trace.processes().iter().filter_map(lost)).collect()
    }
}
