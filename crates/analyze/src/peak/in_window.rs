//! Who held what in a process of a ring that has no table of what was live at its end. Of blocks that were allocated
//! before the window of the ring nobody knows the stacks: an event that is there may allocate a block that an
//! evicted event freed, or free one that an evicted event allocated. Of a block that was allocated in the window
//! both events are there. The others are known all together.

use heapscribe_wire::record::Event;

use super::holding::Holding;
use super::net::{Held, Net};
use super::reader::ChangeReader;
use super::start::LiveAtStart;
use crate::events::{Blocks, Changes};
use crate::input::{Clock, History, NumberedChunk};
use crate::timeline::Grid;

/// A process of a ring.
pub(crate) struct InWindow<'a, H> {
    chunks: &'a [NumberedChunk],
    clock: &'a Clock,
    /// When the window begins, ns.
    window_ns: u64,
    /// What evicted events left live.
    before: Held,
    reader: ChangeReader<'a, H>,
}

impl<'a, H: History> InWindow<'a, H> {
    /// A process that has no table.
    pub(crate) fn of(
        start: &LiveAtStart,
        chunks: &'a [NumberedChunk],
        clock: &'a Clock,
        grid: &Grid,
        reader: ChangeReader<'a, H>,
    ) -> Option<InWindow<'a, H>> {
        let window_ns = grid.begin_ns;
        start.lacks_table.map(|before| InWindow { chunks, clock, window_ns, before, reader })
    }

    /// Who held what just after all events at `ns`, which is in the window.
    pub(crate) fn holding(&self, ns: u64) -> Holding {
        let last_ticks = self.clock.first_tick_at(ns.saturating_add(1)).saturating_sub(1);
        let window_ticks = self.clock.first_tick_at(self.window_ns);
        let (mut net, mut all, mut scratch) = (Net::default(), self.before, H::Scratch::default());
        for chunk in self.chunks {
            let visit = |ticks: u64, event: &Event, changes: &Changes| {
                all.change(changes);
                let is_born = |age_ticks: u64| ticks.wrapping_sub(age_ticks) >= window_ticks;
                let freed = changes.freed.filter(|_| age_ticks(event).is_some_and(is_born));
                net.change(&Changes { freed, allocated: changes.allocated.filter(|_| is_born(0)) });
            };
            self.reader.each_event(chunk, Blocks::Heap, last_ticks, &mut scratch, visit);
        }
        net.held.rows().iter().for_each(|(_, held)| all.remove(held));
        Holding { held: net.held.into_sorted(), sampled: net.sampled, rest: all }
    }
}

/// The age of the block that an event frees.
fn age_ticks(event: &Event) -> Option<u64> {
    match event {
        Event::Free { block, .. } => Some(block.age_ticks),
        Event::Realloc { old, .. } => Some(old.age_ticks),
        _ => None,
    }
}
