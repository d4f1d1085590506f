//! Sums over events: of the leaves in which a question begins or ends, and of all where there is no index.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use heapscribe_analyze::events::{BlockChange, Rates, Scale};
use heapscribe_analyze::input::{ChunkFacts, Clock, History};
use heapscribe_wire::record::Event;
use rayon::prelude::*;

use super::plan::{Edge, edges};
use super::wanted::Wanted;
use crate::amount::Amount;
use crate::axis::Axis;
use crate::key::Key;
use crate::question::{Death, Question, Span};
use crate::slots::{LocalKey, Slots};

/// The events of the recording that an index is of.
pub struct Events<'h, H> {
    pub(super) history: &'h H,
    pub(super) rates: Rates<'h, H>,
    pub(super) clocks: Vec<Clock>,
    pub(super) chunks: Vec<TimedChunk>,
    /// Chunks that could not be read, or not to their end.
    unread: Mutex<BTreeSet<usize>>,
}

/// A chunk and when it was, ns.
pub(super) struct TimedChunk {
    pub(super) number: usize,
    pub(super) facts: ChunkFacts,
    pub(super) begin_ns: u64,
    pub(super) last_ns: u64,
}

impl TimedChunk {
    /// Whether it has events of a time, as far as its ends tell.
    pub(super) fn reaches_into(&self, time: &Span) -> bool {
        self.begin_ns < time.to_ns && self.last_ns >= time.from_ns
    }
}

/// What an event does to blocks.
pub(super) struct Changed {
    pub(super) born: Option<BlockChange>,
    pub(super) died: Option<Died>,
}

/// A block that was freed.
pub(super) struct Died {
    pub(super) block: BlockChange,
    /// That which had allocated it.
    pub(super) thread: u32,
    pub(super) age_ticks: u64,
}

/// What a block stands for.
#[inline(always)]
pub(super) fn amount(block: &BlockChange) -> Amount {
    Amount::new(block.weight.blocks, block.weight.bytes)
}

impl<'h, H: History> Events<'h, H> {
    /// Of this recording.
    pub fn new(history: &'h H) -> Self {
        let clocks: Vec<Clock> = history.processes().iter().map(|process| process.clock).collect();
        let timed = |(number, facts): (usize, ChunkFacts)| {
            let clock = clocks.get(facts.process)?;
            let (begin_ns, last_ns) = (clock.ns(facts.begin_ticks), clock.ns(facts.last_ticks));
            Some(TimedChunk { number, facts, begin_ns, last_ns })
        };
        let chunks = history.chunks().into_iter().enumerate().filter_map(timed).collect();
        let rates = Rates::new(history, clocks.len());
        Events { history, rates, clocks, chunks, unread: Mutex::default() }
    }

    /// Chunks that an answer so far should have had events of, and that could not be read, or not to their end.
    pub fn unread(&self) -> BTreeSet<usize> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes such a chunk.
    #[cold]
    pub(super) fn cannot_read(&self, chunk: &TimedChunk) {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).insert(chunk.number);
    }

    /// How many events have to be read to know each that is in a stretch of time.
    pub fn count(&self, time: &Span) -> u64 {
        self.chunks.iter().filter(|chunk| chunk.reaches_into(time)).map(|chunk| chunk.facts.events).sum()
    }

    /// When each process ended, where that is known.
    pub fn ends_ns(&self) -> Vec<Option<u64>> {
        let processes = self.history.processes();
        let mut last_ns = vec![None; processes.len()];
        for chunk in &self.chunks {
            last_ns[chunk.facts.process] = last_ns[chunk.facts.process].max(Some(chunk.last_ns));
        }
        processes.iter().zip(last_ns).map(|(process, last_ns)| process.end_ns(last_ns)).collect()
    }

    /// The answer in a pass over all events, without an index.
    pub fn ask(&self, question: &Question) -> HashMap<Key, Amount> {
        let ends_ns = self.ends_ns();
        let had_ended = |process: usize, ns: u64| ends_ns[process].is_some_and(|end_ns| end_ns <= ns);
        let mut sums = HashMap::<Key, Amount>::new();
        let (signs, edges): (Vec<_>, Vec<_>) = edges(question).into_iter().unzip();
        for (n, key, amount) in self.sum(self.chunks.iter().collect(), &Span::ALL, &edges) {
            sums.entry(key).or_default().add(signs[n].of(amount));
        }
        sums.retain(|key, amount| {
            let is_left = !matches!(question.death, Death::After(ns) if had_ended(key.process as usize, ns));
            is_left && !amount.is_zero()
        });
        sums
    }

    /// What each edge takes of the events of a leaf, by its number and by key; a key may be there several times.
    pub(super) fn of_leaf(&self, axis: &Axis, leaf: u32, edges: &[Edge]) -> Vec<(usize, Key, Amount)> {
        let in_leaf = Span { from_ns: axis.begin_ns(leaf), to_ns: axis.end_ns(leaf).unwrap_or(u64::MAX) };
        let times: Vec<Span> = edges.iter().map(|edge| edge.time().and(&in_leaf)).collect();
        let reaches_in = |chunk: &&TimedChunk| times.iter().any(|time| chunk.reaches_into(time));
        let chunks = self.chunks.iter().filter(reaches_in).collect();
        self.sum(chunks, &in_leaf, edges)
    }

    fn sum(&self, chunks: Vec<&TimedChunk>, time: &Span, edges: &[Edge]) -> Vec<(usize, Key, Amount)> {
        let sums = chunks.par_iter().map_init(H::Scratch::default, |scratch, chunk| {
            let clock = &self.clocks[chunk.facts.process];
            self.chunk(chunk, &Wanted::new(edges, time, clock), scratch)
        });
        sums.flatten_iter().collect()
    }

    /// Takes what the events of a chunk do to blocks, with their time in ticks, up to where it can be read, or to where no
    /// more are wanted.
    #[inline(always)]
    pub(super) fn each_change(
        &self,
        chunk: &TimedChunk,
        scratch: &mut H::Scratch,
        mut take: impl FnMut(u64, Changed) -> ControlFlow<()>,
    ) {
        let facts = &chunk.facts;
        let Ok(events) = self.history.events(chunk.number, scratch) else {
            self.cannot_read(chunk);
            return;
        };
        let (mut ticks, mut scale) = (facts.begin_ticks, Scale::new(facts.thread));
        let mean_of = |rate| self.rates.mean(facts.process, rate);
        for item in events {
            let Ok((dt, event)) = item else {
                self.cannot_read(chunk);
                break;
            };
            if scale.follow(&event, mean_of) || matches!(event, Event::Took { .. }) {
                continue;
            }
            ticks = ticks.wrapping_add(dt);
            let changes = scale.changes(&event, ticks);
            let died = match (changes.freed, event) {
                (Some(freed), Event::Free { block, .. } | Event::Realloc { old: block, .. }) => {
                    let thread = block.birth_thread.map_or(facts.thread, |thread| thread.0);
                    Some(Died { block: freed, thread, age_ticks: block.age_ticks })
                }
                _ => None,
            };
            if take(ticks, Changed { born: changes.allocated, died }).is_break() {
                break;
            }
        }
    }

    fn chunk(
        &self,
        chunk: &TimedChunk,
        wanted: &Wanted,
        scratch: &mut H::Scratch,
    ) -> Vec<(usize, Key, Amount)> {
        let mut sums = ChunkSums::new(wanted.edges());
        self.each_change(chunk, scratch, |ticks, Changed { born, died }| {
            if ticks >= wanted.end() {
                return ControlFlow::Break(());
            }
            if let Some(block) = born {
                sums.add(&block, chunk.facts.thread, wanted.born(ticks));
            }
            if let Some(Died { block, thread, age_ticks }) = died {
                sums.add(&block, thread, wanted.died(ticks, age_ticks));
            }
            ControlFlow::Continue(())
        });
        sums.by_key(chunk.facts.process)
    }
}

/// What the wanted events of a chunk add up to.
struct ChunkSums {
    slots: Slots,
    /// By slot and edge.
    amounts: Vec<Amount>,
    edges: usize,
}

impl ChunkSums {
    /// Of so many edges.
    fn new(edges: usize) -> ChunkSums {
        ChunkSums { slots: Slots::default(), amounts: Vec::new(), edges }
    }

    /// Adds a block to those edges.
    #[inline(always)]
    fn add(&mut self, block: &BlockChange, thread: u32, mut edges: impl Iterator<Item = usize>) {
        let Some(first) = edges.next() else { return };
        let slot = self.slots.number(LocalKey::of(block, thread));
        if slot * self.edges == self.amounts.len() {
            self.amounts.resize((slot + 1) * self.edges, Amount::default());
        }
        let amount = amount(block);
        let sums = &mut self.amounts[slot * self.edges..];
        [first].into_iter().chain(edges).for_each(|edge| sums[edge].add(amount));
    }

    fn by_key(self, process: usize) -> Vec<(usize, Key, Amount)> {
        let of_key = |(key, sums): (&LocalKey, &[Amount])| {
            let key = key.in_process(process);
            let each = sums.iter().copied().enumerate().filter(|(_, amount)| !amount.is_zero());
            each.map(|(edge, amount)| (edge, key, amount)).collect::<Vec<_>>()
        };
        let sums = self.amounts.chunks(self.edges.max(1));
        self.slots.keys().iter().zip(sums).flat_map(of_key).collect()
    }
}
