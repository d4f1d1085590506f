//! From ours to memtrace, see [`super::objects`]. Events are brought into the order of time, a chunk of
//! each thread at a time.
//!
//! *Lost on the way*, besides what is lost there: all processes but one; memory samples.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io::Write;

use anyhow::{Context, Result};
use heapscribe_trace::memtrace::Order;
use heapscribe_trace::{ChunkInfo, Clock, Process, Scratch, Source, Trace};
use heapscribe_wire::defs::Definition;
use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::record::{Event, Events};

use super::live::encode;
use super::objects::{At, Objects, WORD_BYTES, domain, info};
use super::stacks::Stacks;
use crate::symbols::Resolver;

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
            means.insert(*id, *mean_bytes);
        }
        stacks.take(id, definition);
    })?;
    problems.extend(skipped.iter().map(ToString::to_string));
    let mut cursors = cursors(trace, process);
    let first = cursors.keys().next().map_or(0, |thread| domain(*thread));
    let start_us = start_us(trace, process);
    let host = trace.session().map_or("", |session| &session.host);
    let about = process.info.clone().unwrap_or_default();
    let about = info(&about, host, sample_rate(means.values().copied().min()), start_us, first);
    let mut objects = Objects::create(out, &about, stacks, Order::Direct)?;
    for (id, mean_bytes) in means {
        objects.define(StackId::UNKNOWN, &Definition::Rate { id, mean_bytes });
    }
    objects.name_new(|requests| resolver.resolve(requests));
    all(&mut objects, trace, (trace.clock(process.index), start_us), &mut cursors, &mut problems)?;
    let (mut out, more) = objects.finish()?;
    out.flush()?;
    problems.extend(more);
    Ok(problems)
}

/// The chance of each word to be drawn when samples are this far apart; 1 when every block is recorded.
pub(crate) fn sample_rate(mean_bytes: Option<u64>) -> f64 {
    (WORD_BYTES as f64 / mean_bytes.unwrap_or(WORD_BYTES).max(1) as f64).min(1.0)
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

/// The trace's start, us since 1970.
fn start_us<S: Source>(trace: &Trace<S>, process: &Process) -> i64 {
    let info = process.info.clone().unwrap_or_default();
    let before_ns = info.created_mono_ns.saturating_sub(trace.start_mono_ns());
    (info.created_real_ns.saturating_sub(before_ns) / 1000) as i64
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

/// Takes all events by time.
fn all<S: Source, W: Write>(
    objects: &mut Objects<W>,
    trace: &Trace<S>,
    (clock, start_us): (Clock, i64),
    cursors: &mut BTreeMap<u32, Cursor>,
    problems: &mut Vec<String>,
) -> Result<()> {
    let mut order = BinaryHeap::new();
    for (thread, cursor) in cursors.iter_mut() {
        order.extend(cursor.next(trace, clock, problems).map(|ns| Reverse((ns, *thread))));
    }
    while let Some(Reverse((ns, thread))) = order.pop() {
        let Some(cursor) = cursors.get_mut(&thread) else { continue };
        let time_us = start_us.saturating_add((ns / 1000) as i64);
        let at = At { thread, ticks: cursor.ticks, time_us, rate: cursor.rate };
        if let Some(event) = cursor.event.take() {
            objects.event(at, &event)?;
        }
        order.extend(cursor.next(trace, clock, problems).map(|ns| Reverse((ns, thread))));
    }
    Ok(())
}
