//! From ours to memtrace. Threads become domains, blocks become objects outside OCaml's heaps; a free finds
//! its object by the block's birth. Events are brought into the order of time, a chunk of each thread at a
//! time.
//!
//! *Lost on the way*: all processes but one; sizes that are no multiple of 8 bytes; which function was
//! called, alignment, calls that were refused; blocks of pools, marks and sections; memory samples; the
//! innermost frames of stacks that have no
//! room, see [`heapscribe_trace::memtrace`]; times finer than 1 us.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::io::Write;

use anyhow::{Context, Result};
use heapscribe_trace::memtrace::{
    Alloc, Heap, Info, LocationCode, Locations, ObjectId, WriteOptions, Writer,
};
use heapscribe_trace::{ChunkInfo, Clock, Process, Scratch, Source, Trace};
use heapscribe_wire::defs::Definition;
use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::record::{Block, Event, Events};

use super::live::encode;
use super::stacks::Stacks;
use crate::symbols::Resolver;

const WORD_BYTES: u64 = 8;
/// Frees that are kept until their allocation comes: clocks of threads differ a little.
const EARLY_MAX: usize = 1 << 20;

/// Converts a process of a trace: the one of this pid, or the one with most events. Gives what is not whole,
/// in words.
pub(crate) fn convert<S: Source, W: Write>(
    trace: &Trace<S>,
    pid: Option<u32>,
    resolver: &Resolver,
    out: W,
) -> Result<Vec<String>> {
    let process = choose(trace, pid).context("there is no such process in the trace")?;
    let mut problems: Vec<_> = trace.problems().iter().map(ToString::to_string).collect();
    let (mut stacks, mut means) = (Stacks::default(), BTreeMap::new());
    let skipped = trace.definitions(process.index, &mut Scratch::default(), |id, definition| {
        if let Definition::Rate { id, mean_bytes } = definition {
            means.insert(id.0, *mean_bytes);
        }
        stacks.take(id, definition);
    })?;
    problems.extend(skipped.iter().map(ToString::to_string));
    let locations = stacks.locations(resolver);
    let cursors = cursors(trace, process);
    let first = cursors.keys().next().map_or(0, |thread| domain(*thread));
    let info = info(trace, process, &means, first);
    let writer = Writer::create(out, &info, WriteOptions::default())?;
    let mut to = Conversion {
        writer,
        start_us: info.start_us,
        samples_per_byte: info.sample_rate / WORD_BYTES as f64,
        means,
        stacks,
        locations,
        objects: HashMap::new(),
        early: HashSet::new(),
        codes: (StackId::UNKNOWN, Vec::new()),
        unmatched: 0,
        lost: 0,
        of_pools: 0,
    };
    to.all(trace, trace.clock(process.index), cursors, &mut problems)?;
    problems.extend(to.finish()?);
    Ok(problems)
}

fn choose<S: Source>(trace: &Trace<S>, pid: Option<u32>) -> Option<&Process> {
    let events = |process: &Process| -> u64 {
        let chunks = trace.chunks().iter().filter(|chunk| chunk.process == process.index);
        chunks.map(|chunk| u64::from(chunk.sums.events)).sum()
    };
    let is_meant =
        |process: &&Process| pid.is_none_or(|pid| process.info.as_ref().is_some_and(|i| i.pid == pid));
    trace.processes().iter().filter(is_meant).max_by_key(|process| events(process))
}

fn domain(thread: u32) -> u16 {
    u16::try_from(thread.saturating_sub(1)).unwrap_or(u16::MAX)
}

fn info<S: Source>(trace: &Trace<S>, process: &Process, means: &BTreeMap<u8, u64>, first: u16) -> Info {
    let info = process.info.clone().unwrap_or_default();
    let before_ns = info.created_mono_ns.saturating_sub(trace.start_mono_ns());
    let command = info.command.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ");
    let mean_bytes = means.values().copied().min().unwrap_or(WORD_BYTES);
    Info {
        sample_rate: (WORD_BYTES as f64 / mean_bytes.max(1) as f64).min(1.0),
        word_bits: 64,
        executable: info.exe,
        host: trace.session().map(|session| session.host.clone().into_bytes()).unwrap_or_default(),
        runtime_params: Vec::new(),
        pid: i64::from(info.pid),
        context: command.into_bytes(),
        start_us: (info.created_real_ns.saturating_sub(before_ns) / 1000) as i64,
        domain: first,
    }
}

/// A thread on its way: its chunks, and the next event of the one that is loaded.
#[derive(Default)]
struct Cursor {
    chunks: VecDeque<usize>,
    info: ChunkInfo,
    payload: Vec<u8>,
    offset: usize,
    ticks: u64,
    rate: RateId,
    event: Option<Event>,
}

fn cursors<S: Source>(trace: &Trace<S>, process: &Process) -> BTreeMap<u32, Cursor> {
    let mut cursors: BTreeMap<u32, Cursor> = BTreeMap::new();
    for (number, chunk) in trace.chunks().iter().enumerate().filter(|(_, c)| c.process == process.index) {
        cursors.entry(chunk.info.thread).or_default().chunks.push_back(number);
    }
    cursors
}

impl Cursor {
    /// Goes to the next event, in the next chunk when this one is at its end; when that is, ns since the
    /// trace's start. `None` at the thread's end.
    fn next<S: Source>(&mut self, trace: &Trace<S>, clock: Clock, problems: &mut Vec<String>) -> Option<u64> {
        loop {
            let mut events = Events::new(self.payload.get(self.offset..).unwrap_or_default());
            let found = events.next();
            self.offset += events.offset();
            match found {
                Some(Ok((_, Event::Rate { rate }))) => self.rate = rate,
                Some(Ok((dt, event))) => {
                    self.ticks = self.ticks.wrapping_add(dt);
                    self.event = Some(event);
                    return Some(clock.time_ns(&self.info, self.ticks));
                }
                Some(Err(bad)) => {
                    problems.push(format!("{bad}; the rest of the chunk is left out"));
                    self.payload.clear();
                }
                None => self.load(trace, problems)?,
            }
        }
    }

    fn load<S: Source>(&mut self, trace: &Trace<S>, problems: &mut Vec<String>) -> Option<()> {
        let number = self.chunks.pop_front()?;
        (self.offset, self.rate) = (0, RateId::default());
        self.payload.clear();
        match trace.load_chunk(&trace.chunks()[number], &mut Scratch::default()) {
            Ok(chunk) => {
                self.info = chunk.info;
                self.ticks = chunk.info.begin_ticks;
                if let Err(e) = encode(chunk, &mut self.payload) {
                    problems.push(e.to_string());
                }
            }
            Err(e) => problems.push(e.to_string()),
        }
        Some(())
    }
}

struct Conversion<W> {
    writer: Writer<W>,
    start_us: i64,
    samples_per_byte: f64,
    means: BTreeMap<u8, u64>,
    stacks: Stacks,
    locations: Locations,
    /// Objects by the thread and ticks of their birth.
    objects: HashMap<(u32, u64), ObjectId>,
    /// Frees that came before their allocation.
    early: HashSet<(u32, u64)>,
    /// The stack that was asked for last, and its codes.
    codes: (StackId, Vec<LocationCode>),
    unmatched: u64,
    lost: u64,
    /// Events of pools, whose blocks lie inside the heap's and have no place in the format.
    of_pools: u64,
}

/// Whose an event is, and when.
#[derive(Clone, Copy)]
struct At {
    thread: u32,
    ticks: u64,
    time_us: i64,
    rate: RateId,
}

impl<W: Write> Conversion<W> {
    /// Takes all events by time.
    fn all<S: Source>(
        &mut self,
        trace: &Trace<S>,
        clock: Clock,
        mut cursors: BTreeMap<u32, Cursor>,
        problems: &mut Vec<String>,
    ) -> Result<()> {
        let mut order = BinaryHeap::new();
        for (thread, cursor) in &mut cursors {
            order.extend(cursor.next(trace, clock, problems).map(|ns| Reverse((ns, *thread))));
        }
        while let Some(Reverse((ns, thread))) = order.pop() {
            let Some(cursor) = cursors.get_mut(&thread) else { continue };
            let time_us = self.start_us.saturating_add((ns / 1000) as i64);
            let at = At { thread, ticks: cursor.ticks, time_us, rate: cursor.rate };
            if let Some(event) = cursor.event.take() {
                self.event(at, &event)?;
            }
            order.extend(cursor.next(trace, clock, problems).map(|ns| Reverse((ns, thread))));
        }
        Ok(())
    }

    fn event(&mut self, at: At, event: &Event) -> Result<()> {
        if event.is_pool() {
            self.of_pools += 1;
            return Ok(());
        }
        match *event {
            Event::Alloc { size_bytes, stack, .. } | Event::UnknownRealloc { size_bytes, stack, .. } => {
                self.came(at, size_bytes, stack)
            }
            Event::Free { block, .. } => self.went(at, &block),
            Event::Realloc { old, size_bytes, stack, .. } => {
                self.went(at, &old)?;
                self.came(at, size_bytes, stack)
            }
            Event::Lost { count, .. } => {
                self.lost = self.lost.saturating_add(count);
                Ok(())
            }
            Event::Failed { .. } | Event::UnknownFree { .. } | Event::Rate { .. } | Event::Note { .. } => {
                Ok(())
            }
        }
    }

    fn came(&mut self, at: At, size_bytes: u64, stack: StackId) -> Result<()> {
        if self.codes.0 != stack || stack == StackId::UNKNOWN {
            self.stacks.codes(stack, &mut self.codes.1);
            self.codes.0 = stack;
        }
        let alloc = Alloc {
            id: ObjectId(0),
            length_words: size_bytes.div_ceil(WORD_BYTES) as i64,
            samples: self.samples(size_bytes, at.rate),
            heap: Heap::External,
            common: 0,
            stack: &self.codes.1,
        };
        let id = self.writer.alloc(domain(at.thread), at.time_us, &alloc, &self.locations)?;
        let birth = (at.thread, at.ticks);
        if self.early.remove(&birth) {
            self.writer.collect(domain(at.thread), at.time_us, id, &self.locations)?;
        } else {
            self.objects.insert(birth, id);
        }
        Ok(())
    }

    /// As many samples as stand for the bytes that the block stands for.
    fn samples(&self, size_bytes: u64, rate: RateId) -> i64 {
        let size = size_bytes as f64;
        let weight = match self.means.get(&rate.0).filter(|_| rate.0 != 0) {
            Some(mean) if size > 0.0 => -size / (-size / *mean as f64).exp_m1(),
            _ => size,
        };
        ((weight * self.samples_per_byte).round() as i64).max(1)
    }

    fn went(&mut self, at: At, block: &Block) -> Result<()> {
        let birth = (block.birth_thread.map_or(at.thread, |t| t.0), at.ticks.wrapping_sub(block.age_ticks));
        match self.objects.remove(&birth) {
            Some(id) => self.writer.collect(domain(at.thread), at.time_us, id, &self.locations)?,
            None if self.early.len() < EARLY_MAX => {
                self.early.insert(birth);
            }
            None => self.unmatched += 1,
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<String>> {
        let unmatched = self.unmatched + self.early.len() as u64;
        let mut problems = Vec::new();
        if unmatched != 0 {
            problems.push(format!("{unmatched} blocks were freed whose allocation is not in the trace"));
        }
        if self.of_pools != 0 {
            problems.push(format!(
                "{} events of the program's own pools have no place in a memtrace file",
                self.of_pools
            ));
        }
        if self.lost != 0 {
            problems.push(format!("{} events are missing", self.lost));
        }
        self.writer.finish(&self.locations)?.flush()?;
        Ok(problems)
    }
}
