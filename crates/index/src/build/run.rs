//! The pass over all chunks, and the order in which leaves are written.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use heapscribe_analyze::events::Rates;
use heapscribe_analyze::input::{ChunkFacts, Clock, History, ProcessFacts};
use heapscribe_analyze::{HeapCuts, LostInChunks, Options, Segment, chunk_damage};
use heapscribe_wire::head::LossReason;
use rayon::prelude::*;

use super::chunk_pass::ChunkPass;
use super::leaf_ages::LeafAges;
use super::leaf_sums::LeafSums;
use super::leaf_writer::LeafWriter;
use super::local_sums::{ByBirth, LocalSums};
use super::notes::{ChunkNotes, Notes};
use super::options::BuildOptions;
use super::step_ages::StepAges;
use super::survivors::Survivors;
use crate::ages::AgeTicks;
use crate::axis::{Axis, Extent};
use crate::file::{Kind, SectionWriter};
use crate::heap;
use crate::key::{Key, KeyId, Keys};
use crate::lost;
use crate::notes;
use crate::slots::LocalKey;
use crate::ticks::LeafTicks;
use crate::trace_id::TraceId;

/// What a build gave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Built {
    /// Bytes written.
    pub bytes: u64,
    /// Events read.
    pub events: u64,
    /// Chunks that could not be read, or not to their end, in words.
    pub problems: Vec<String>,
}

/// Builds the index of a recording. `progress` is told how many of how many events are done.
///
/// # Errors
/// Those of `out`.
pub fn build<H: History, W: Write>(
    history: &H,
    trace: &TraceId,
    options: &BuildOptions,
    out: W,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<Built> {
    let processes = history.processes();
    let mut chunks: Vec<(usize, ChunkFacts)> = history.chunks().into_iter().enumerate().collect();
    chunks.retain(|(_, facts)| facts.process < processes.len());
    let begin_ns = |facts: &ChunkFacts| processes[facts.process].clock.ns(facts.begin_ticks);
    chunks.sort_by_cached_key(|(number, facts)| (begin_ns(facts), *number));
    let events = chunks.iter().map(|(_, facts)| facts.events).sum();
    let axis = axis(&chunks, &processes, events, options.events_per_leaf);

    let rates = Rates::new(history, processes.len());
    let pass = Pass {
        history,
        rates: &rates,
        heap: HeapCuts::new(history, &rates, &Options::default()),
        axis: &axis,
        clocks: processes.iter().map(|process| process.clock).collect(),
        ticks: (0..processes.len()).map(|_| OnceLock::new()).collect(),
        shared: Mutex::new(Shared::new(options, processes.len(), &axis)),
    };
    let mut out = SectionWriter::new(out)?;
    let (mut writer, mut done) = (LeafWriter::default(), 0);
    for batch in chunks.chunks(options.chunks_at_once.max(1)) {
        batch.par_iter().for_each_init(Default::default, |scratch, chunk| pass.chunk(chunk, scratch));
        // Chunks that follow begin later, and add to no leaf before this one.
        let complete = axis.leaf(batch.last().map_or(0, |(_, facts)| begin_ns(facts)));
        let mut shared = pass.shared();
        writer.write_until(complete, &axis, &mut shared.leaves, &mut out)?;
        if shared.survivors.is_full() {
            shared.survivors.write(&mut out)?;
            shared.step_ages.write(&mut out)?;
        }
        done += batch.iter().map(|(_, facts)| facts.events).sum::<u64>();
        progress(done, events);
    }
    let Pass { shared, heap, .. } = pass;
    let mut shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    writer.write_until(axis.leaves(), &axis, &mut shared.leaves, &mut out)?;
    shared.survivors.write(&mut out)?;
    shared.step_ages.write(&mut out)?;
    shared.ages.write(&mut out)?;
    write_tables(trace, &axis, &ends_ns(&chunks, &processes), &shared.keys, &mut out)?;
    lost::write(&shared.lost, &mut out)?;
    if let Some(by_name) = shared.notes.by_name(history) {
        notes::write(&by_name, &mut out)?;
    }
    heap::write(&heap.finish(shared.segments), &mut out)?;
    let (_, bytes) = out.finish()?;
    Ok(Built { bytes, events, problems: shared.problems })
}

/// Leaves over the events of these chunks.
fn axis(chunks: &[(usize, ChunkFacts)], processes: &[ProcessFacts], events: u64, per_leaf: u64) -> Axis {
    let extent = |(_, facts): &(usize, ChunkFacts)| {
        let clock = &processes[facts.process].clock;
        Extent {
            begin_ns: clock.ns(facts.begin_ticks),
            last_ns: clock.ns(facts.last_ticks),
            events: facts.events,
        }
    };
    let extents: Vec<_> = chunks.iter().map(extent).collect();
    Axis::by_events(&extents, Axis::leaves_of(events, per_leaf))
}

/// When each process ended, ns; 0 when that is not known.
fn ends_ns(chunks: &[(usize, ChunkFacts)], processes: &[ProcessFacts]) -> Vec<u64> {
    let mut last_ns = vec![None; processes.len()];
    for (_, facts) in chunks {
        let ns = processes[facts.process].clock.ns(facts.last_ticks);
        last_ns[facts.process] = last_ns[facts.process].max(Some(ns));
    }
    processes.iter().zip(last_ns).map(|(process, last_ns)| process.end_ns(last_ns).unwrap_or(0)).collect()
}

/// What chunks are summed with.
struct Pass<'a, H> {
    history: &'a H,
    rates: &'a Rates<'a, H>,
    heap: HeapCuts<'a, H>,
    axis: &'a Axis,
    clocks: Vec<Clock>,
    ticks: Vec<OnceLock<(LeafTicks, AgeTicks)>>,
    shared: Mutex<Shared>,
}

/// What a core needs to sum chunks one after the other.
#[derive(Default)]
struct ChunkScratch<S> {
    events: S,
    sums: LocalSums,
    segments: Vec<Segment>,
    notes: ChunkNotes,
}

/// What all chunks add to.
struct Shared {
    keys: Keys,
    leaves: BTreeMap<u32, LeafSums>,
    survivors: Survivors,
    ages: LeafAges,
    step_ages: StepAges,
    segments: Vec<Segment>,
    notes: Notes,
    lost: LostInChunks,
    problems: Vec<String>,
}

impl Shared {
    fn new(options: &BuildOptions, processes: usize, axis: &Axis) -> Shared {
        Shared {
            keys: Keys::new(options.keys_max),
            leaves: BTreeMap::new(),
            survivors: Survivors::new(options.survivors_bytes_max),
            ages: LeafAges::new(axis.leaves()),
            step_ages: StepAges::new(axis.leaves_per_step()),
            segments: Vec::new(),
            notes: Notes::new(options.notes_max),
            lost: LostInChunks::new(processes),
            problems: Vec::new(),
        }
    }

    /// Adds what a chunk has in a leaf.
    fn add(&mut self, process: usize, leaf: u32, sums: &LocalSums, survivors: &ByBirth) {
        let number = |key: &LocalKey| self.keys.number(key.in_process(process));
        let keys: Vec<KeyId> = sums.keys().iter().map(number).collect();
        self.leaves.entry(leaf).or_default().add(sums, survivors, &keys);
        self.survivors.add(leaf, sums, &keys);
        self.ages.add(leaf, sums, survivors);
        self.step_ages.add(survivors, &keys);
    }
}

impl<H: History> Pass<'_, H> {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn chunk(&self, (number, facts): &(usize, ChunkFacts), scratch: &mut ChunkScratch<H::Scratch>) {
        let (process, clock) = (facts.process, &self.clocks[facts.process]);
        let (leaves, ages) =
            self.ticks[process].get_or_init(|| (LeafTicks::new(self.axis, clock), AgeTicks::new(clock)));
        let ChunkScratch { events, sums, segments, notes } = scratch;
        let leave = |leaf: u32, sums: &mut LocalSums| {
            if !sums.is_empty() {
                let survivors = sums.by_birth();
                self.shared().add(process, leaf, sums, &survivors);
                sums.clear();
            }
        };
        let is_damaged = match self.history.events(*number, events) {
            Ok(events) => {
                let mean_of = |rate| self.rates.mean(process, rate);
                let cutter = self.heap.cutter(*number, segments);
                let pass = ChunkPass::new(facts, (leaves, ages), (sums, notes), cutter, leave);
                pass.run(events, &mean_of).is_err()
            }
            Err(_) => true,
        };
        let damage = if is_damaged { chunk_damage(self.history, *number, facts, events) } else { None };
        let mut shared = self.shared();
        if let Some(damage) = damage {
            shared.lost.add(process, LossReason::Damaged as u8, damage.events);
            shared.lost.add_damaged(*number);
            shared.problems.push(damage.what);
        }
        shared.segments.append(segments);
        shared.notes.add(facts, clock, &notes.notes);
        notes.lost.iter().for_each(|(reason, count)| shared.lost.add(process, *reason, *count));
        *notes = ChunkNotes::default();
    }
}

/// Writes what all leaves share.
fn write_tables<W: Write>(
    trace: &TraceId,
    axis: &Axis,
    ends_ns: &[u64],
    keys: &Keys,
    out: &mut SectionWriter<W>,
) -> io::Result<()> {
    let of_key = |key: &Key| {
        [u64::from(key.process), u64::from(key.stack.0), u64::from(key.thread), u64::from(key.size.0)]
    };
    out.section(Kind::Trace, 0, &[trace.row()])?;
    out.section(Kind::Axis, 0, &axis.begins_ns().iter().map(|ns| [*ns]).collect::<Vec<_>>())?;
    out.section(Kind::Processes, 0, &ends_ns.iter().map(|ns| [*ns]).collect::<Vec<_>>())?;
    out.section(Kind::Keys, 0, &keys.all().iter().map(of_key).collect::<Vec<_>>())
}
