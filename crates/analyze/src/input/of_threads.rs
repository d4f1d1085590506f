//! The events of a chunk as far as they are about blocks that some threads allocated: a block is its allocating
//! thread's, whoever frees it, so that what these threads hold is known at every moment.

use std::collections::BTreeSet;

use heapscribe_wire::record::{BadEvent, Block, Event};

/// Events of one thread's chunk, of all threads' blocks or of those of some.
pub(super) struct OfThreads<'a, E> {
    pub(super) events: E,
    /// The thread of the chunk.
    pub(super) thread: u32,
    /// Whose blocks; none is everybody's.
    pub(super) wanted: Option<&'a BTreeSet<u32>>,
    /// Ticks of events that were left out, which the next one's count from.
    pub(super) skipped_ticks: u64,
    /// Whether the last event was left out, and its duration with it.
    pub(super) has_skipped: bool,
}

impl<E> OfThreads<'_, E> {
    /// What of an event is about these threads.
    fn part(&self, event: Event, wanted: &BTreeSet<u32>) -> Option<Event> {
        let is_own = wanted.contains(&self.thread);
        let is_born = |block: &Block| block.birth_thread.map_or(is_own, |thread| wanted.contains(&thread.0));
        match event {
            Event::Free { block, .. } => is_born(&block).then_some(event),
            Event::Realloc { call, old, size_bytes, stack } => match (is_born(&old), is_own) {
                (true, true) => Some(event),
                (true, false) => Some(Event::Free { call, block: old }),
                (false, true) => Some(Event::Alloc { call, size_bytes, stack, align_log2: 0 }),
                (false, false) => None,
            },
            Event::Rate { .. } => Some(event),
            Event::Took { .. } => (!self.has_skipped).then_some(event),
            // One thread maps and another unmaps: of some threads they say nothing.
            Event::Mapping(_) => None,
            _ => is_own.then_some(event),
        }
    }
}

impl<E: Iterator<Item = Result<(u64, Event), BadEvent>>> Iterator for OfThreads<'_, E> {
    type Item = E::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<E::Item> {
        let Some(wanted) = self.wanted else { return self.events.next() };
        loop {
            let (dt, event) = match self.events.next()? {
                Ok(found) => found,
                bad => return Some(bad),
            };
            let has_time = !matches!(event, Event::Rate { .. } | Event::Took { .. });
            let part = self.part(event, wanted);
            if !has_time {
                match part {
                    Some(event) => return Some(Ok((dt, event))),
                    None => continue,
                }
            }
            self.has_skipped = part.is_none();
            match part {
                Some(event) => return Some(Ok((dt + std::mem::take(&mut self.skipped_ticks), event))),
                None => self.skipped_ticks = self.skipped_ticks.wrapping_add(dt),
            }
        }
    }
}
