//! The index of a file, built by the first pass: where the events of each lane are, and the names, stacks and
//! clocks, which are written behind the events that need them.

use std::collections::{HashMap, HashSet};

use super::error::{Fault, Malformed};
use super::names::Names;

/// Problems that are listed; more are only counted.
const PROBLEMS_MAX: usize = 1000;

/// Events of one lane that are contiguous in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Batch {
    /// Where the first of them begins.
    pub(crate) begin: u64,
    /// Where the last of them ends.
    pub(crate) end: u64,
    /// What the first one's time counts from.
    pub(crate) base_ticks: u64,
    /// When the first of them was.
    pub(crate) first_ticks: u64,
    pub(crate) generation: u32,
}

/// Batches of a lane whose times never decrease.
#[derive(Debug)]
pub(crate) struct Run {
    /// The P of layout one, the thread of layout two.
    pub(crate) lane: u64,
    pub(crate) batches: Vec<Batch>,
    last_ticks: u64,
}

/// A generation: a second or so of a program, whose names stand for themselves. Layout one has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generation {
    /// Its number in the file.
    pub number: u64,
    /// Ticks a second; `None` when the file ends before that.
    pub frequency: Option<u64>,
    /// Events in it.
    pub events: u64,
    /// Texts in it; one that is finished has some.
    pub texts: u64,
}

/// The index.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) runs: Vec<Run>,
    /// The run of each lane that is still added to.
    open: HashMap<u64, usize, foldhash::fast::RandomState>,
    pub(crate) generations: Vec<Generation>,
    pub(crate) names: Names,
    /// When the first and the last event were.
    pub(crate) ticks: Option<(u64, u64)>,
    pub(crate) events: u64,
    pub(crate) cpu_samples: u64,
    /// Events of the experiment with allocations.
    pub(crate) heap_events: u64,
    /// Stacks that events name.
    used_stacks: HashSet<(u32, u64), foldhash::fast::RandomState>,
    last_stack: (u32, u64),
    pub(crate) problems: Vec<Malformed>,
    pub(crate) problems_more: u64,
}

/// The batch that is being read: where its events are so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenBatch {
    lane: u64,
    batch: Batch,
    last_ticks: u64,
    events: u64,
    heap_events: u64,
}

/// The first number of the experiment's kinds.
const HEAP_KINDS: u8 = 128;

impl OpenBatch {
    pub(crate) fn new(lane: u64, generation: u32, begin: u64, ticks: u64) -> OpenBatch {
        let batch = Batch { begin, end: begin, base_ticks: ticks, first_ticks: ticks, generation };
        OpenBatch { lane, batch, last_ticks: ticks, events: 0, heap_events: 0 }
    }

    /// Takes the next event: how much later it was than the one before, and where it ends.
    #[inline(always)]
    pub(crate) fn event(&mut self, kind: u8, later: u64, end: u64) -> Result<(), Fault> {
        self.last_ticks = self.last_ticks.checked_add(later).ok_or(Fault::Time)?;
        if self.events == 0 {
            self.batch.first_ticks = self.last_ticks;
        }
        self.events += 1;
        self.heap_events += u64::from(kind >= HEAP_KINDS);
        self.batch.end = end;
        Ok(())
    }
}

impl Index {
    /// The index of a generation by its number.
    pub(crate) fn generation(&mut self, number: u64) -> u32 {
        // Generations are contiguous in a file.
        if self.generations.last().is_none_or(|last| last.number != number) {
            self.generations.push(Generation { number, frequency: None, events: 0, texts: 0 });
        }
        (self.generations.len() - 1) as u32
    }

    /// Takes a batch at its end. One that begins before its lane's last event was starts a run of its own,
    /// so that each run is in order.
    pub(crate) fn batch(&mut self, open: OpenBatch) {
        if open.events == 0 {
            return;
        }
        let OpenBatch { lane, batch, last_ticks, events, heap_events } = open;
        self.events += events;
        self.heap_events += heap_events;
        if let Some(generation) = self.generations.get_mut(batch.generation as usize) {
            generation.events += events;
        }
        let (first, last) = self.ticks.unwrap_or((batch.first_ticks, last_ticks));
        self.ticks = Some((first.min(batch.first_ticks), last.max(last_ticks)));
        let run = self.open.get(&lane).copied().filter(|run| self.runs[*run].last_ticks <= batch.first_ticks);
        let run = run.unwrap_or_else(|| {
            self.runs.push(Run { lane, batches: Vec::new(), last_ticks });
            self.runs.len() - 1
        });
        self.open.insert(lane, run);
        self.runs[run].batches.push(batch);
        self.runs[run].last_ticks = last_ticks;
    }

    /// Records that an event uses a stack.
    #[inline(always)]
    pub(crate) fn use_stack(&mut self, generation: u32, stack: u64) {
        if stack != 0 && self.last_stack != (generation, stack) {
            self.last_stack = (generation, stack);
            self.used_stacks.insert(self.last_stack);
        }
    }

    /// At the end of the file, reports how many stacks are used and not in it.
    pub(crate) fn report_missing_stacks(&mut self, end: u64) {
        let is_missing = |(generation, id): &&(u32, u64)| self.names.frames(*generation, *id).is_none();
        let missing = self.used_stacks.iter().filter(is_missing).count();
        if missing != 0 {
            self.problem(end, Fault::MissingStacks(missing));
        }
        self.used_stacks = HashSet::default();
    }

    /// Takes a text; one without a number of its own is refused.
    pub(crate) fn text(&mut self, generation: u32, id: u64, text: &[u8]) -> Result<(), Fault> {
        if id == 0 || !self.names.add_text(generation, id, text) {
            return Err(Fault::StringId(id));
        }
        if let Some(generation) = self.generations.get_mut(generation as usize) {
            generation.texts += 1;
        }
        Ok(())
    }

    pub(crate) fn problem(&mut self, offset: u64, fault: Fault) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Malformed { offset, fault });
        } else {
            self.problems_more += 1;
        }
    }

    /// Ticks a second, from the first generation that has it.
    pub(crate) fn frequency(&self) -> Option<u64> {
        self.generations.iter().find_map(|generation| generation.frequency)
    }

    pub(crate) fn set_frequency(&mut self, generation: u32, frequency: u64) -> Result<(), Fault> {
        if frequency == 0 {
            return Err(Fault::Frequency);
        }
        if let Some(generation) = self.generations.get_mut(generation as usize) {
            generation.frequency = Some(frequency);
        }
        Ok(())
    }
}
