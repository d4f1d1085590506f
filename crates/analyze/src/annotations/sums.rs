//! Sums over the annotations of a process, by name.

use std::collections::BTreeMap;

use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::Block;

use crate::counters::StackRow;
use crate::events::CallRow;
use crate::sampling::{SampledLives, Samples, Weight};
use crate::stacks::StackTable;
use crate::timeline::Segment;

/// The annotations of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Annotations {
    pub(crate) marks: MarkTable,
    pub(crate) sections: SectionTable,
    pub(crate) pools: PoolAnnotations,
}

/// Marks by the number of their name.
pub(crate) type MarkTable = BTreeMap<u32, MarkSums>;
/// Sections by the number of their name.
pub(crate) type SectionTable = BTreeMap<u32, SectionSums>;

/// Marks of one name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkSums {
    pub(crate) count: u64,
    pub(crate) first_ticks: u64,
    pub(crate) last_ticks: u64,
}

/// Sections of one name.
#[derive(Clone, Debug, Default)]
pub(crate) struct SectionSums {
    /// How many began.
    pub(crate) begun: u64,
    /// How many ended.
    pub(crate) ended: u64,
    /// How long those took together that ended.
    pub(crate) ticks: u64,
    pub(crate) longest_ticks: u64,
    /// The calls inside, by stack.
    pub(crate) stacks: StackTable<CallRow>,
}

/// Blocks of the pools that a program manages itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolAnnotations {
    pub(crate) sums: PoolSums,
    pub(crate) segments: Vec<Segment>,
}

/// Sums over blocks of pools.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolSums {
    pub(crate) stacks: StackTable<StackRow>,
    pub(crate) sampled: Samples<SampledLives>,
    /// Frees of blocks that were not known.
    pub(crate) unknown: u64,
}

impl PoolSums {
    /// A block is allocated; perhaps it was sampled.
    pub(crate) fn alloc(&mut self, stack: StackId, size_bytes: u64, weight: Weight, sampled: bool) {
        self.stacks.row(stack).alloc(size_bytes, weight, 0);
        if sampled {
            self.sampled.note(stack, size_bytes, weight, |lives, block| lives.allocated.add(block));
        }
    }

    /// A block is freed.
    pub(crate) fn free(&mut self, block: &Block, weight: Weight, sampled: bool) {
        self.stacks.row(block.stack).free(block, weight, false, 0);
        if sampled {
            self.sampled.note(block.stack, block.size_bytes, weight, |lives, block| lives.freed.add(block));
        }
    }

    fn merge(&mut self, other: PoolSums) {
        self.unknown += other.unknown;
        self.stacks.merge(other.stacks, StackRow::merge);
        self.sampled.merge(other.sampled, SampledLives::merge);
    }
}

impl PoolAnnotations {
    /// Whether any of the blocks were sampled.
    pub(crate) fn is_sampled(&self) -> bool {
        !self.sums.sampled.classes.is_empty()
    }
}

impl Annotations {
    /// Adds those of other chunks of the same process.
    pub(crate) fn merge(&mut self, mut other: Annotations) {
        for (name, theirs) in other.marks {
            let mine = self.marks.entry(name).or_insert(MarkSums { count: 0, ..theirs });
            mine.count += theirs.count;
            mine.first_ticks = mine.first_ticks.min(theirs.first_ticks);
            mine.last_ticks = mine.last_ticks.max(theirs.last_ticks);
        }
        for (name, theirs) in other.sections {
            self.sections.entry(name).or_default().merge(theirs);
        }
        self.pools.sums.merge(other.pools.sums);
        self.pools.segments.append(&mut other.pools.segments);
    }

    /// The first and last moments of the marks, in the order of time.
    pub(crate) fn moments(&self) -> Vec<u64> {
        let mut moments: Vec<u64> =
            self.marks.values().flat_map(|mark| [mark.first_ticks, mark.last_ticks]).collect();
        moments.sort_unstable();
        moments.dedup();
        moments
    }
}

impl SectionSums {
    fn merge(&mut self, other: SectionSums) {
        self.begun += other.begun;
        self.ended += other.ended;
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.longest_ticks = self.longest_ticks.max(other.longest_ticks);
        self.stacks.merge(other.stacks, CallRow::merge);
    }
}
