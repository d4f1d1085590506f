//! What the chunks of one process add up to. A chunk is summed alone - a free event says what it frees - so
//! chunks go through in any order on any core and only the sums meet. Every sum is over what blocks stand
//! for: themselves where every block was recorded, more where they were sampled.

use std::collections::BTreeMap;

use heapscribe_wire::head::{DROP_COUNTERS, LossReason};

use crate::annotations::Annotations;
use crate::counters::{Histogram, LargeSums, StackRow, ThreadSums};
use crate::latency::Latency;
use crate::mappings::MappingEvents;
use crate::sampling::{SampledLives, Samples};
use crate::stacks::StackTable;
use crate::timeline::Segment;

/// What chunks of one process add up to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessSums {
    pub(crate) stacks: StackTable<StackRow>,
    /// Of stacks that allocated large blocks.
    pub(crate) large: StackTable<LargeSums>,
    pub(crate) sampled: Samples<SampledLives>,
    /// Which rates occur, a bit for each.
    pub(crate) rates: u8,
    pub(crate) threads: BTreeMap<u32, ThreadSums>,
    pub(crate) sizes: Histogram,
    pub(crate) lifetimes: Histogram,
    pub(crate) segments: Vec<Segment>,
    pub(crate) lost: [u64; DROP_COUNTERS],
    pub(crate) problems: Vec<String>,
    /// What the program annotated.
    pub(crate) annotations: Annotations,
    /// How long its calls took.
    pub(crate) latency: Latency,
    /// What it did to its own mappings.
    pub(crate) mappings: MappingEvents,
}

impl ProcessSums {
    /// Counts so many events of a chunk that cannot be read, and says why.
    pub(crate) fn damaged(&mut self, events: u64, what: String) {
        let lost = &mut self.lost[LossReason::Damaged as usize];
        *lost = lost.saturating_add(events);
        self.problems.push(what);
    }

    /// Adds others of the same process.
    pub(crate) fn merge(mut self, mut other: ProcessSums) -> ProcessSums {
        if other.stacks.rows().len() > self.stacks.rows().len() {
            std::mem::swap(&mut self, &mut other);
        }
        self.stacks.merge(other.stacks, StackRow::merge);
        self.large.merge(other.large, LargeSums::merge);
        self.sampled.merge(other.sampled, SampledLives::merge);
        self.rates |= other.rates;
        for (thread, sums) in &other.threads {
            self.threads.entry(*thread).or_default().merge(sums);
        }
        self.sizes.merge(&other.sizes);
        self.lifetimes.merge(&other.lifetimes);
        self.segments.append(&mut other.segments);
        for (mine, theirs) in self.lost.iter_mut().zip(&other.lost) {
            *mine = mine.saturating_add(*theirs);
        }
        self.problems.append(&mut other.problems);
        self.annotations.merge(other.annotations);
        self.latency.merge(other.latency);
        self.mappings.merge(other.mappings);
        self
    }
}
