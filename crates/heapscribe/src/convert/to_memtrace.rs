//! From ours to memtrace. Threads become domains, blocks become objects outside OCaml's heaps; a free finds
//! its object by the block's birth.
//!
//! *Lost on the way*: all processes but one; sizes that are no multiple of 8 bytes; which function was
//! called, alignment, calls that were refused; memory samples; the innermost frames of stacks that have no
//! room, see [`heapscribe_trace::memtrace`]; times finer than 1 us.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

use anyhow::{Context, Result};
use heapscribe_trace::memtrace::{
    Alloc, Heap, Info, LocationCode, Locations, ObjectId, WriteOptions, Writer,
};
use heapscribe_trace::{Process, Scratch, Source, Trace};
use heapscribe_wire::defs::Definition;
use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::record::{Block, Event};

use super::in_order::{At, InOrder, choose};
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
    let mut order = InOrder::new(trace, process);
    let first = order.first_thread().map_or(0, domain);
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
    };
    while let Some((at, event)) = order.next(trace) {
        to.event(at, &event)?;
    }
    problems.extend(order.problems);
    problems.extend(to.finish()?);
    Ok(problems)
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
}

impl<W: Write> Conversion<W> {
    /// When an event was, us since 1970.
    fn time_us(&self, at: At) -> i64 {
        self.start_us.saturating_add((at.ns / 1000) as i64)
    }

    fn event(&mut self, at: At, event: &Event) -> Result<()> {
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
            Event::Failed { .. } | Event::UnknownFree { .. } | Event::Rate { .. } => Ok(()),
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
        let id = self.writer.alloc(domain(at.thread), self.time_us(at), &alloc, &self.locations)?;
        let birth = (at.thread, at.ticks);
        if self.early.remove(&birth) {
            self.writer.collect(domain(at.thread), self.time_us(at), id, &self.locations)?;
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
            Some(id) => self.writer.collect(domain(at.thread), self.time_us(at), id, &self.locations)?,
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
        if self.lost != 0 {
            problems.push(format!("{} events are missing", self.lost));
        }
        self.writer.finish(&self.locations)?.flush()?;
        Ok(problems)
    }
}
