//! What events change of what is live: the block that was freed, the block that was allocated, and what each
//! stands for at the rate in force.

use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::record::{Block, Event};

use crate::sampling::{Birth, Half, Weight};

/// A block that was allocated or freed.
#[derive(Clone, Copy, Debug)]
pub struct BlockChange {
    /// The stack that allocated it.
    pub stack: StackId,
    /// Its size.
    pub size_bytes: u64,
    /// What it stands for.
    pub weight: Weight,
    /// Whether it was sampled, so that its weight is an estimate.
    pub sampled: bool,
}

/// What one event changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes {
    /// The block that was freed.
    pub freed: Option<BlockChange>,
    /// The block that was allocated.
    pub allocated: Option<BlockChange>,
}

impl Changes {
    /// How many bytes more are live after it.
    pub fn net_bytes(&self) -> i64 {
        let bytes = |change: Option<BlockChange>| change.map_or(0, |change| change.weight.bytes as i64);
        bytes(self.allocated).wrapping_sub(bytes(self.freed))
    }
}

/// Goes along with the events of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    thread: u32,
    /// The rate in force.
    pub rate: RateId,
    /// Of the rate; 0 when every block was recorded.
    pub(crate) mean_bytes: u64,
    of: Blocks,
}

/// Whose blocks are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Blocks {
    /// The heap's.
    #[default]
    Heap,
    /// Those of the program's own pools, which lie inside the heap's.
    Pools,
    /// The heap's, with what sampled ones stand for in a half of the sample.
    InHalf(Half),
    /// Those of pools, the same way.
    PoolsInHalf(Half),
}

impl Blocks {
    fn are_of_pools(self) -> bool {
        matches!(self, Blocks::Pools | Blocks::PoolsInHalf(_))
    }

    /// The same as a half of the sample has them.
    pub(crate) fn in_half(self, half: Half) -> Blocks {
        if self.are_of_pools() { Blocks::PoolsInHalf(half) } else { Blocks::InHalf(half) }
    }
}

impl Scale {
    /// Before the first event of a thread's chunk.
    pub const fn new(thread: u32) -> Scale {
        Scale { thread, rate: RateId::FULL, mean_bytes: 0, of: Blocks::Heap }
    }

    /// The thread.
    pub const fn thread(&self) -> u32 {
        self.thread
    }

    /// The same, of such blocks.
    pub const fn of(self, of: Blocks) -> Scale {
        Scale { of, ..self }
    }

    /// Follows a change of the rate; whether the event is one.
    #[inline(always)]
    pub fn follow(&mut self, event: &Event, mean_of: impl Fn(RateId) -> u64) -> bool {
        let Event::Rate { rate } = *event else { return false };
        (self.rate, self.mean_bytes) = (rate, mean_of(rate));
        true
    }

    /// What a block stands for that is allocated now.
    #[inline(always)]
    pub fn of_new(&self, size_bytes: u64, ticks: u64) -> Weight {
        if self.mean_bytes == 0 {
            return Weight::one(size_bytes);
        }
        self.of_sampled(size_bytes, Birth { thread: self.thread, ticks })
    }

    #[cold]
    fn of_sampled(&self, size_bytes: u64, birth: Birth) -> Weight {
        let weight = Weight::of(size_bytes, self.mean_bytes, birth);
        match self.of {
            Blocks::InHalf(half) | Blocks::PoolsInHalf(half) => weight.in_half(size_bytes, half),
            Blocks::Heap | Blocks::Pools => weight,
        }
    }

    /// What a block stands for that is freed now.
    #[inline(always)]
    pub fn of_old(&self, block: &Block, ticks: u64) -> Weight {
        if self.mean_bytes == 0 {
            return Weight::one(block.size_bytes);
        }
        let thread = block.birth_thread.map_or(self.thread, |birth| birth.0);
        let birth = Birth { thread, ticks: ticks.wrapping_sub(block.age_ticks) };
        self.of_sampled(block.size_bytes, birth)
    }

    /// The block that an event frees and the one that it allocates.
    #[inline(always)]
    pub fn changes(&self, event: &Event, ticks: u64) -> Changes {
        if event.is_pool() != self.of.are_of_pools() {
            return Changes::default(); // a pool's block changes nothing of what is live in the heap
        }
        let sampled = self.mean_bytes != 0;
        let allocated = |stack, size_bytes| {
            Some(BlockChange { stack, size_bytes, weight: self.of_new(size_bytes, ticks), sampled })
        };
        let freed = |block: &Block| {
            let (stack, size_bytes) = (block.stack, block.size_bytes);
            Some(BlockChange { stack, size_bytes, weight: self.of_old(block, ticks), sampled })
        };
        match *event {
            Event::Alloc { size_bytes, stack, .. } => {
                Changes { freed: None, allocated: allocated(stack, size_bytes) }
            }
            Event::Free { block, .. } => Changes { freed: freed(&block), allocated: None },
            Event::Realloc { old, size_bytes, stack, .. } => {
                Changes { freed: freed(&old), allocated: allocated(stack, size_bytes) }
            }
            // A block whose former life is not known was not chosen by chance.
            Event::UnknownRealloc { size_bytes, stack, .. } => {
                let weight = Weight::one(size_bytes);
                Changes {
                    freed: None,
                    allocated: Some(BlockChange { stack, size_bytes, weight, sampled: false }),
                }
            }
            Event::Failed { .. }
            | Event::UnknownFree { .. }
            | Event::Rate { .. }
            | Event::Took { .. }
            | Event::Lost { .. }
            | Event::Note { .. }
            | Event::Mapping(_) => Changes::default(),
        }
    }
}
