//! Who held what at a moment: the sum of all allocated and freed up to it, in any order. What was allocated
//! and freed *after* it, taken from what was held at the end, gives the same, so of the group of chunks that
//! the moment lies in the shorter side is read.

use heapscribe_wire::ids::StackId;
use rayon::prelude::*;

use super::group::ChunkGroup;
use super::net::{Held, Net};
use super::reader::ChangeReader;
use crate::events::Blocks;
use crate::input::{ChunkFacts, Clock, History, NumberedChunk};
use crate::sampling::{Moments, Samples};

/// What stacks held at a moment, and of those with sampled blocks how sure that is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    pub(crate) held: Vec<(StackId, Held)>,
    pub(crate) sampled: Samples<Moments>,
    /// What was held besides, of which the stacks are not known.
    pub(crate) rest: Held,
}

impl Holding {
    /// What a stack held.
    pub(crate) fn of(&self, stack: StackId) -> Held {
        let at = self.held.binary_search_by_key(&stack, |(of, _)| *of);
        at.map_or(Held::default(), |at| self.held[at].1)
    }

    /// Who held what just after all events at `ns`, by stack, having held `before` before all events.
    pub(crate) fn at<H: History>(
        ns: u64,
        before: &Net,
        reader: &ChangeReader<'_, H>,
        groups: &[ChunkGroup],
        clock: &Clock,
    ) -> Holding {
        let after = clock.first_tick_at(ns.saturating_add(1));
        let mut net = before.clone();
        for group in groups {
            let events = |touches: fn(&ChunkFacts, u64) -> bool| -> u64 {
                group.chunks.iter().filter(|c| touches(&c.facts, after)).map(|c| c.facts.events).sum()
            };
            if events(has_after) < events(has_before) {
                let wants = |facts: &ChunkFacts| has_after(facts, after);
                let later = sum(reader, Blocks::Heap, &group.chunks, wants, after..=u64::MAX);
                net.add(&group.net);
                net.remove(&later);
            } else if let Some(last) = after.checked_sub(1) {
                let wants = |facts: &ChunkFacts| has_before(facts, after);
                net = net.merge(sum(reader, Blocks::Heap, &group.chunks, wants, 0..=last));
            }
        }
        Holding { held: net.held.into_sorted(), sampled: net.sampled, rest: Held::default() }
    }

    /// The same of blocks of pools, of all chunks of a process.
    pub(crate) fn of_pools_at<H: History>(
        ns: u64,
        before: &Net,
        reader: &ChangeReader<'_, H>,
        chunks: &[NumberedChunk],
        clock: &Clock,
    ) -> Holding {
        let after = clock.first_tick_at(ns.saturating_add(1));
        let wants = |facts: &ChunkFacts| has_before(facts, after);
        let net = match after.checked_sub(1) {
            Some(last) => before.clone().merge(sum(reader, Blocks::Pools, chunks, wants, 0..=last)),
            None => before.clone(),
        };
        Holding { held: net.held.into_sorted(), sampled: net.sampled, rest: Held::default() }
    }
}

fn has_before(chunk: &ChunkFacts, after: u64) -> bool {
    chunk.begin_ticks < after
}

fn has_after(chunk: &ChunkFacts, after: u64) -> bool {
    chunk.last_ticks >= after
}

/// Sums what was allocated less what was freed, by stack, in these ticks.
fn sum<H: History>(
    reader: &ChangeReader<'_, H>,
    of: Blocks,
    chunks: &[NumberedChunk],
    wants: impl Fn(&ChunkFacts) -> bool,
    ticks: std::ops::RangeInclusive<u64>,
) -> Net {
    let wanted: Vec<&NumberedChunk> = chunks.iter().filter(|chunk| wants(&chunk.facts)).collect();
    let (first, last) = (*ticks.start(), *ticks.end());
    let add = |(mut scratch, mut net): (H::Scratch, Net), chunk: &&NumberedChunk| {
        reader.each_change(chunk, of, last, &mut scratch, |ticks, changes| {
            if ticks >= first {
                net.change(changes);
            }
        });
        (scratch, net)
    };
    let nets = wanted.par_iter().with_min_len(16).fold(<(H::Scratch, Net)>::default, add);
    nets.map(|(_, net)| net).reduce(Net::default, Net::merge)
}
