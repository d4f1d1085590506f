//! One process image: what its threads allocated from each stack in this window, what they hold, and up to where its
//! chunks were counted.

use std::collections::{BTreeMap, HashMap};

use heapscribe_analyze::events::Scale;
use heapscribe_formats::model::ChunkInfo;
use heapscribe_wire::definitions::{Definition, Definitions, Position};
use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::record::{Event, Events};

use crate::tables::rows::Sum;

/// Chunks of a thread that were counted and not freed, at most: an open one comes again, and one that whoever counted it
/// could not free as it was killed.
const CHUNKS_REMEMBERED: usize = 256;

/// What tells a process image from any other since the machine was started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct ImageKey {
    /// The kernel's number of the process.
    pub pid: u32,
    /// When its recording began, CLOCK_MONOTONIC ns.
    pub created_mono_ns: u64,
}

/// What a thread did with a stack's blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Allocated.
    pub allocated: Sum,
    /// Freed, by whomever.
    pub freed: Sum,
}

/// A stack, and the thread that allocated.
pub(super) type Owner = (StackId, u32);

/// A process image.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Image {
    /// Which one.
    pub key: ImageKey,
    /// What its threads allocated in this window.
    pub(super) window: HashMap<Owner, Sum>,
    /// What they allocated and what of it was freed, but for what both have. A free may be read before its block's
    /// allocation, which another thread's chunk has.
    pub(super) live: HashMap<Owner, Counted>,
    /// Bytes of the chunks that were counted and may come again, by thread and number.
    pub(super) counted: BTreeMap<(u32, u64), usize>,
    pub(super) rates: HashMap<RateId, u64>,
    /// Up to where the file was counted to which the process wrote chunks while nobody took them.
    pub spilled_bytes: u64,
    /// Blocks that were seen allocated in this window, without what they stand for.
    pub seen: u64,
    /// Whether it has ended.
    pub has_ended: bool,
}

impl Image {
    /// A new one.
    pub fn new(key: ImageKey) -> Image {
        Image { key, ..Image::default() }
    }

    /// Takes note of rates among definitions.
    pub fn definitions(&mut self, position: Position, bytes: &[u8]) {
        for (_, definition) in Definitions::new(bytes, position).flatten() {
            if let Definition::Rate { id, mean_bytes } = definition {
                self.rates.insert(id, mean_bytes);
            }
        }
    }

    /// Counts what of a chunk was not counted before.
    pub fn chunk(&mut self, info: &ChunkInfo, payload: &[u8]) {
        let before = self.counted.get(&(info.thread, info.sequence)).copied().unwrap_or(0);
        if payload.len() <= before {
            return;
        }
        let mut events = Events::new(payload);
        let (mut ticks, mut scale) = (info.begin_ticks, Scale::new(info.thread));
        loop {
            let at = events.offset();
            // What is no event ends the chunk; what follows was never counted, and is not now.
            let Some(Ok((dt, event))) = events.next() else { break };
            let mean = |rate| self.rates.get(&rate).copied().unwrap_or(0);
            if scale.follow(&event, mean) || matches!(event, Event::Took { .. }) {
                continue;
            }
            ticks = ticks.wrapping_add(dt);
            if at >= before {
                self.event(&event, &scale, ticks);
            }
        }
        self.remember(info, events.offset());
    }

    fn event(&mut self, event: &Event, scale: &Scale, ticks: u64) {
        let changes = scale.changes(event, ticks);
        if let Some(change) = changes.freed {
            let birth = match event {
                Event::Free { block, .. } | Event::Realloc { old: block, .. } => block.birth_thread,
                _ => None,
            };
            let thread = birth.map_or(scale.thread(), |thread| thread.0);
            let owner = (change.stack, thread);
            self.live.entry(owner).or_default().freed.add(&Sum::of(&change));
            self.forget_if_even(owner);
        }
        if let Some(change) = changes.allocated {
            let owner = (change.stack, scale.thread());
            self.seen += 1;
            self.window.entry(owner).or_default().add(&Sum::of(&change));
            self.live.entry(owner).or_default().allocated.add(&Sum::of(&change));
            self.forget_if_even(owner);
        }
    }

    fn forget_if_even(&mut self, owner: Owner) {
        if self.live.get(&owner).is_some_and(|of| of.allocated == of.freed) {
            self.live.remove(&owner);
        }
    }

    fn remember(&mut self, info: &ChunkInfo, bytes: usize) {
        self.counted.insert((info.thread, info.sequence), bytes);
        let of_thread = self.counted.range((info.thread, 0)..=(info.thread, u64::MAX));
        if of_thread.clone().count() > CHUNKS_REMEMBERED {
            let oldest = of_thread.map(|(key, _)| *key).next();
            oldest.map(|key| self.counted.remove(&key));
        }
    }

    /// These chunks, by thread and number, never come again.
    pub fn freed(&mut self, chunks: &[(u32, u64)]) {
        for chunk in chunks {
            self.counted.remove(chunk);
        }
    }

    /// Begins the next window.
    pub fn next_window(&mut self) {
        self.window.clear();
        self.seen = 0;
        for of in self.live.values_mut() {
            let (allocated, freed) = (of.allocated.without(&of.freed), of.freed.without(&of.allocated));
            *of = Counted { allocated, freed };
        }
    }

    /// What it allocated in this window, of all stacks.
    pub fn allocated(&self) -> Sum {
        let mut all = Sum::default();
        self.window.values().for_each(|sum| all.add(sum));
        all
    }

    /// What is live in it, of all stacks.
    pub fn live(&self) -> Sum {
        let mut all = Sum::default();
        if !self.has_ended {
            self.live.values().for_each(|of| all.add(&of.allocated.without(&of.freed)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::call::Call;
    use heapscribe_wire::limits::EVENT_BYTES_MAX;

    use super::*;

    /// Chunk `sequence` of a thread with so many allocations of 100 bytes.
    fn pass(image: &mut Image, (thread, sequence): (u32, u64), allocations: usize) {
        let alloc = Event::Alloc { call: Call::Malloc, size_bytes: 100, stack: StackId(1), align_log2: 0 };
        let mut at = [0; EVENT_BYTES_MAX];
        let n = alloc.encode(1, &mut at);
        image.chunk(&ChunkInfo { thread, sequence, ..ChunkInfo::default() }, &at[..n].repeat(allocations));
    }

    /// A service with a thread for each request had an agent that grew by each of them.
    #[test]
    fn threads_that_ended_are_not_remembered_and_nothing_counts_twice() {
        let mut image = Image::new(ImageKey::default());
        for thread in 0..5000 {
            pass(&mut image, (thread, 0), 1); // while it is still open
            pass(&mut image, (thread, 0), 3);
            // Whoever took it was killed before it was freed: it comes again.
            pass(&mut image, (thread, 0), 3);
            image.freed(&[(thread, 0)]);
            assert!(image.counted.is_empty());
        }
        assert_eq!((image.allocated().blocks, image.seen), (15_000, 15_000));
        let mut saved = String::new();
        image.save(&mut saved);
        assert_eq!(saved.matches("counted").count(), 0);
    }
}
