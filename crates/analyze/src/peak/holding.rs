//! Who held what at a moment: the sum of all allocated and freed up to it, in any order. What was allocated
//! and freed *after* it, taken from what was held at the end, gives the same, so the shorter side is decoded.

use heapscribe_wire::ids::{RateId, StackId};
use rayon::prelude::*;

use crate::counters::StackRow;
use crate::events::{BlockChange, Scale};
use crate::input::{ChunkFacts, Clock, EventsInOrder, History, NumberedChunk};
use crate::sampling::{Moments, Rates, Samples};
use crate::stacks::StackTable;
use crate::sums::ProcessSums;

/// Blocks and bytes, or how many more or fewer; below zero when allocations are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Held {
    pub(crate) blocks: i64,
    pub(crate) bytes: i64,
}

impl Held {
    pub(crate) fn add(&mut self, other: &Held) {
        self.blocks = self.blocks.wrapping_add(other.blocks);
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }

    /// What a stack holds at the end.
    pub(crate) fn at_end(row: &StackRow) -> Held {
        Held {
            blocks: row.allocations.wrapping_sub(row.frees) as i64,
            bytes: row.allocated_bytes.wrapping_sub(row.freed_bytes) as i64,
        }
    }
}

/// What stacks held at a moment, and of those with sampled blocks how sure that is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    pub(crate) held: Vec<(StackId, Held)>,
    pub(crate) sampled: Samples<Moments>,
}

/// Sums of changes.
#[derive(Clone, Debug, Default)]
struct Net {
    held: StackTable<Held>,
    sampled: Samples<Moments>,
}

impl Net {
    #[inline(always)]
    fn alloc(&mut self, change: &BlockChange) {
        let (blocks, bytes) = (change.weight.blocks as i64, change.weight.bytes as i64);
        self.held.row(change.stack).add(&Held { blocks, bytes });
        if change.sampled {
            self.alloc_sampled(change);
        }
    }

    #[inline(always)]
    fn free(&mut self, change: &BlockChange) {
        let (blocks, bytes) = (change.weight.blocks as i64, change.weight.bytes as i64);
        let held = Held { blocks: blocks.wrapping_neg(), bytes: bytes.wrapping_neg() };
        self.held.row(change.stack).add(&held);
        if change.sampled {
            self.free_sampled(change);
        }
    }

    #[cold]
    fn alloc_sampled(&mut self, change: &BlockChange) {
        self.sampled.note(change.stack, change.size_bytes, change.weight, Moments::add);
    }

    #[cold]
    fn free_sampled(&mut self, change: &BlockChange) {
        self.sampled.note(change.stack, change.size_bytes, change.weight, Moments::remove);
    }

    fn merge(mut self, other: Net) -> Net {
        self.held.merge(other.held, Held::add);
        self.sampled.merge(other.sampled, Moments::add);
        self
    }
}

/// Chunks of one process and what is needed to read them.
pub(crate) struct ProcessChunks<'a, H> {
    pub(crate) history: &'a H,
    pub(crate) rates: &'a Rates<'a, H>,
    pub(crate) chunks: &'a [NumberedChunk],
    pub(crate) clock: &'a Clock,
}

impl<H: History> ProcessChunks<'_, H> {
    /// Who held what just after all events at `ns`, by stack; `end` is what all chunks add up to.
    pub(crate) fn held_at(&self, ns: u64, end: &ProcessSums) -> Holding {
        let after = self.clock.first_tick_at(ns.saturating_add(1));
        let touches_before = |c: &ChunkFacts| c.begin_ticks < after;
        let touches_after = |c: &ChunkFacts| c.last_ticks >= after;
        let cost = |touches: &dyn Fn(&ChunkFacts) -> bool| -> u64 {
            self.chunks.iter().filter(|c| touches(&c.facts)).map(|c| c.facts.events).sum()
        };
        if cost(&touches_after) < cost(&touches_before) {
            before(self.net(touches_after, |ticks| ticks >= after), end)
        } else {
            let net = self.net(touches_before, |ticks| ticks < after);
            Holding { held: net.held.into_sorted(), sampled: net.sampled }
        }
    }

    /// How many bytes were live at moments, which are in their order: after the events of that instant.
    pub(crate) fn levels(&self, moments: &[u64]) -> Vec<i64> {
        let Some(last) = moments.last() else { return Vec::new() };
        let mut levels = self
            .chunks
            .par_iter()
            .with_min_len(16)
            .filter(|chunk| chunk.facts.begin_ticks <= *last)
            .fold(
                || (H::Scratch::default(), vec![0; moments.len()]),
                |(mut scratch, mut net), chunk| {
                    if let Ok(events) = self.history.events(chunk.number, &mut scratch) {
                        let mean_of = |rate| self.rates.mean(chunk.facts.process, rate);
                        add_levels(&mut net, moments, &chunk.facts, events, mean_of);
                    }
                    (scratch, net)
                },
            )
            .map(|(_, net)| net)
            .reduce(
                || vec![0; moments.len()],
                |a, b| a.iter().zip(&b).map(|(a, b): (&i64, &i64)| a.wrapping_add(*b)).collect(),
            );
        let mut level = 0i64;
        for net in &mut levels {
            level = level.wrapping_add(*net);
            *net = level;
        }
        levels
    }

    /// Sums what was allocated less what was freed, by stack, over the events whose time is asked for.
    fn net(
        &self,
        wants_chunk: impl Fn(&ChunkFacts) -> bool + Sync,
        wants: impl Fn(u64) -> bool + Sync,
    ) -> Net {
        self.chunks
            .par_iter()
            .with_min_len(16)
            .filter(|chunk| wants_chunk(&chunk.facts))
            .fold(<(H::Scratch, Net)>::default, |(mut scratch, mut net), chunk| {
                if let Ok(events) = self.history.events(chunk.number, &mut scratch) {
                    let mean_of = |rate| self.rates.mean(chunk.facts.process, rate);
                    add_chunk(&mut net, &chunk.facts, events, mean_of, &wants);
                }
                (scratch, net)
            })
            .map(|(_, net)| net)
            .reduce(Net::default, Net::merge)
    }
}

/// What was held before changes that led to the end.
fn before(mut changes: Net, end: &ProcessSums) -> Holding {
    let mut holding = Holding::default();
    for (stack, row) in end.stacks.rows() {
        let (at_end, change) = (Held::at_end(row), *changes.held.row(*stack));
        let (blocks, bytes) =
            (at_end.blocks.wrapping_sub(change.blocks), at_end.bytes.wrapping_sub(change.bytes));
        holding.held.push((*stack, Held { blocks, bytes }));
    }
    for (stack, lives) in end.sampled.stacks.rows() {
        let mut held = lives.at_end();
        held.remove(changes.sampled.stacks.row(*stack));
        *holding.sampled.stacks.row(*stack) = held;
    }
    for (class, lives) in &end.sampled.classes {
        let mut held = lives.at_end();
        held.remove(&changes.sampled.classes.get(class).copied().unwrap_or_default());
        holding.sampled.classes.insert(*class, held);
    }
    holding
}

/// Adds what changed between each moment and the one before it.
fn add_levels(
    net: &mut [i64],
    moments: &[u64],
    chunk: &ChunkFacts,
    events: impl EventsInOrder,
    mean_of: impl Fn(RateId) -> u64,
) {
    let (mut ticks, mut scale, mut next) = (chunk.begin_ticks, Scale::new(chunk.thread), 0);
    for item in events {
        let Ok((dt, event)) = item else { return };
        ticks = ticks.wrapping_add(dt);
        if scale.follow(&event, &mean_of) {
            continue;
        }
        next += moments[next..].partition_point(|moment| *moment < ticks);
        let Some(net) = net.get_mut(next) else { return };
        *net = net.wrapping_add(scale.changes(&event, ticks).net_bytes());
    }
}

fn add_chunk(
    net: &mut Net,
    chunk: &ChunkFacts,
    events: impl EventsInOrder,
    mean_of: impl Fn(RateId) -> u64,
    wants: &impl Fn(u64) -> bool,
) {
    let (mut ticks, mut scale) = (chunk.begin_ticks, Scale::new(chunk.thread));
    for item in events {
        // What is no event ends the chunk, and the first pass has said so.
        let Ok((dt, event)) = item else { return };
        ticks = ticks.wrapping_add(dt);
        if !scale.follow(&event, &mean_of) && wants(ticks) {
            let changes = scale.changes(&event, ticks);
            changes.freed.iter().for_each(|change| net.free(change));
            changes.allocated.iter().for_each(|change| net.alloc(change));
        }
    }
}
