//! What events change of what is live: the block that went, the block that came, and what each stands for
//! at the rate in force.

use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::record::{Block, Event};

use crate::weight::Share;

/// A block that came or went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) stack: StackId,
    pub(crate) size_bytes: u64,
    pub(crate) share: Share,
    /// Whether it was sampled, so that its share is a guess.
    pub(crate) sampled: bool,
}

/// Goes along with the events of a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    thread: u32,
    pub(crate) rate: RateId,
    /// Of the rate; 0 when every block was recorded.
    pub(crate) mean_bytes: u64,
    of: Blocks,
}

/// Whose blocks are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Blocks {
    /// The heap's.
    #[default]
    Heap,
    /// Those of the program's own pools, which lie inside the heap's.
    Pools,
}

impl Scale {
    /// Before the first event of a thread's chunk.
    pub(crate) const fn new(thread: u32) -> Scale {
        Scale { thread, rate: RateId::FULL, mean_bytes: 0, of: Blocks::Heap }
    }

    /// The thread.
    pub(crate) const fn thread(&self) -> u32 {
        self.thread
    }

    /// The same, of such blocks.
    pub(crate) const fn of(self, of: Blocks) -> Scale {
        Scale { of, ..self }
    }

    /// Follows a change of the rate; whether the event is one.
    #[inline(always)]
    pub(crate) fn follow(&mut self, event: &Event, mean_of: impl Fn(RateId) -> u64) -> bool {
        let Event::Rate { rate } = *event else { return false };
        (self.rate, self.mean_bytes) = (rate, mean_of(rate));
        true
    }

    /// What a block stands for that comes now.
    #[inline(always)]
    pub(crate) fn of_new(&self, size_bytes: u64, ticks: u64) -> Share {
        if self.mean_bytes == 0 {
            return Share::one(size_bytes);
        }
        Share::of(size_bytes, self.mean_bytes, (self.thread, ticks))
    }

    /// What a block stands for that goes now.
    #[inline(always)]
    pub(crate) fn of_old(&self, block: &Block, ticks: u64) -> Share {
        if self.mean_bytes == 0 {
            return Share::one(block.size_bytes);
        }
        let thread = block.birth_thread.map_or(self.thread, |birth| birth.0);
        Share::of(block.size_bytes, self.mean_bytes, (thread, ticks.wrapping_sub(block.age_ticks)))
    }

    /// The block that went and the block that came.
    #[inline(always)]
    pub(crate) fn changes(&self, event: &Event, ticks: u64) -> (Option<Change>, Option<Change>) {
        if event.is_pool() != (self.of == Blocks::Pools) {
            return (None, None); // a pool's block changes nothing of what is live in the heap
        }
        let sampled = self.mean_bytes != 0;
        let came = |stack, size_bytes| {
            Some(Change { stack, size_bytes, share: self.of_new(size_bytes, ticks), sampled })
        };
        let went = |block: &Block| {
            let (stack, size_bytes) = (block.stack, block.size_bytes);
            Some(Change { stack, size_bytes, share: self.of_old(block, ticks), sampled })
        };
        match *event {
            Event::Alloc { size_bytes, stack, .. } => (None, came(stack, size_bytes)),
            Event::Free { block, .. } => (went(&block), None),
            Event::Realloc { old, size_bytes, stack, .. } => (went(&old), came(stack, size_bytes)),
            // A block whose former life is not known was not chosen by chance.
            Event::UnknownRealloc { size_bytes, stack, .. } => {
                (None, Some(Change { stack, size_bytes, share: Share::one(size_bytes), sampled: false }))
            }
            Event::Failed { .. }
            | Event::UnknownFree { .. }
            | Event::Rate { .. }
            | Event::Took { .. }
            | Event::Lost { .. }
            | Event::Note { .. } => (None, None),
        }
    }
}
