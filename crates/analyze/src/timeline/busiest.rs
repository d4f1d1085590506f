//! The second in which most blocks were allocated.
//!
//! Seconds begin every 100 ms, so that one that begins in between can have a little more: what the steps at
//! its two ends have, less what lies outside of it. Memory grows with the steps in which there was anything.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::answer::estimate::Figure;
use crate::events::{BlockChange, Scale};
use crate::input::{ChunkFacts, Clock, EventsInOrder, History};
use crate::sampling::{self, Moment, Moments, Rates};

/// A step, ns.
const STEP_NS: u64 = 100_000_000;
/// Slots of a second.
const STEPS: u64 = 10;

/// A second.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Busiest {
    /// Blocks that were allocated in it, and where blocks were sampled how sure that is.
    pub allocations: Figure,
    /// When it began, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// When it ended.
    pub to_ns: u64,
}

/// Blocks of a step, and of those that were sampled how sure that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Slot {
    blocks: u64,
    sampled: Moment,
}

impl Slot {
    fn add(&mut self, other: &Slot) {
        self.blocks = self.blocks.saturating_add(other.blocks);
        self.sampled.add(&other.sampled);
    }
}

/// Slots by number, only those with any blocks.
type Slots = BTreeMap<u64, Slot>;

/// The busiest second of all processes of a history together.
pub fn busiest<H: History>(history: &H) -> Busiest {
    let processes = history.processes();
    let rates = Rates::new(history, processes.len());
    let chunks: Vec<_> = history.chunks().into_iter().enumerate().filter(|(_, c)| !c.is_made_up).collect();
    let steps = chunks
        .par_iter()
        .with_min_len(16)
        .fold(<(H::Scratch, Slots)>::default, |(mut scratch, mut steps), (number, chunk)| {
            let clock = processes.get(chunk.process).map(|process| &process.clock);
            if let (Ok(events), Some(clock)) = (history.events(*number, &mut scratch), clock) {
                let mean_of = |rate| rates.mean(chunk.process, rate);
                add_chunk(&mut steps, chunk, events, mean_of, clock);
            }
            (scratch, steps)
        })
        .map(|(_, steps)| steps)
        .reduce(Slots::new, |mut all, other| {
            other.iter().for_each(|(number, step)| all.entry(*number).or_default().add(step));
            all
        });
    highest(&steps)
}

/// Of several equal ones the first.
fn highest(steps: &Slots) -> Busiest {
    let mut best: Option<(u64, Slot)> = None;
    // A window that begins where nothing happens has no more than the next that begins with something.
    for &first in steps.keys() {
        let mut sum = Slot::default();
        let end = first.saturating_add(STEPS);
        steps.range(first..end).for_each(|(_, step)| sum.add(step));
        if best.is_none_or(|(_, most)| sum.blocks > most.blocks) {
            best = Some((first, sum));
        }
    }
    let Some((first, sum)) = best else { return Busiest::default() };
    let at = |step: u64| step.saturating_mul(STEP_NS);
    Busiest {
        allocations: sampling::figure(sum.blocks, &sum.sampled),
        from_ns: at(first),
        to_ns: at(first.saturating_add(STEPS)),
    }
}

fn add_chunk(
    steps: &mut Slots,
    chunk: &ChunkFacts,
    events: impl EventsInOrder,
    mean_of: impl Fn(heapscribe_wire::ids::RateId) -> u64,
    clock: &Clock,
) {
    let (mut ticks, mut scale) = (chunk.begin_ticks, Scale::new(chunk.thread));
    let (mut number, mut step, mut next_ticks) = (0, Slot::default(), 0);
    for item in events {
        // What is no event ends the chunk, and whoever sums it up says so.
        let Ok((dt, event)) = item else { break };
        if scale.follow(&event, &mean_of) {
            continue;
        }
        ticks = ticks.wrapping_add(dt);
        let Some(allocated) = scale.changes(&event, ticks).allocated else { continue };
        if ticks >= next_ticks {
            put(steps, number, &step);
            (number, step) = (clock.ns(ticks) / STEP_NS, Slot::default());
            next_ticks =
                clock.first_tick_at((number + 1).saturating_mul(STEP_NS)).max(ticks.saturating_add(1));
        }
        step.add(&of_block(&allocated));
    }
    put(steps, number, &step);
}

fn put(steps: &mut Slots, number: u64, step: &Slot) {
    if step.blocks > 0 {
        steps.entry(number).or_default().add(step);
    }
}

fn of_block(allocated: &BlockChange) -> Slot {
    let sampled = if allocated.sampled {
        Moments::of(allocated.size_bytes, allocated.weight).blocks
    } else {
        Moment::default()
    };
    Slot { blocks: allocated.weight.blocks, sampled }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks by step; the first step and the number of blocks of the busiest second.
    fn check(blocks: &[(u64, u64)], expected: (u64, u64)) {
        let step = |&(number, blocks): &(u64, u64)| (number, Slot { blocks, ..Slot::default() });
        let found = highest(&blocks.iter().map(step).collect());
        assert_eq!((found.from_ns / STEP_NS, found.allocations.value as u64), expected, "{blocks:?}");
    }

    #[test]
    fn a_second_is_ten_steps() {
        check(&[], (0, 0));
        check(&[(3, 7)], (3, 7));
        check(&[(3, 7), (12, 1), (13, 100)], (12, 101));
        check(&[(0, 50), (9, 50), (10, 50)], (0, 100));
        check(&[(u64::MAX / STEP_NS, 5)], (u64::MAX / STEP_NS, 5));
    }
}
