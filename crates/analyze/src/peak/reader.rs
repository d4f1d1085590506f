//! Reads what chunks change of what is live, up to a moment.

use heapscribe_wire::record::Event;

use crate::events::{Blocks, Changes, Scale};
use crate::input::{History, NumberedChunk};
use crate::sampling::Rates;

/// A recording and the sampling rates of its processes.
pub(crate) struct ChangeReader<'a, H> {
    pub(crate) history: &'a H,
    pub(crate) rates: &'a Rates<'a, H>,
}

impl<H> Clone for ChangeReader<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for ChangeReader<'_, H> {}

impl<H: History> ChangeReader<'_, H> {
    /// Visits the events of a chunk that are not after these ticks: when each was, and what it changed. What
    /// cannot be read is left out: the first pass has reported it.
    #[inline(always)]
    pub(super) fn each_change(
        &self,
        chunk: &NumberedChunk,
        of: Blocks,
        last_ticks: u64,
        scratch: &mut H::Scratch,
        mut visit: impl FnMut(u64, &Changes),
    ) {
        self.each_event(chunk, of, last_ticks, scratch, |ticks, _, changes| visit(ticks, changes));
    }

    /// The same with the events themselves.
    #[inline(always)]
    pub(super) fn each_event(
        &self,
        chunk: &NumberedChunk,
        of: Blocks,
        last_ticks: u64,
        scratch: &mut H::Scratch,
        mut visit: impl FnMut(u64, &Event, &Changes),
    ) {
        let Ok(events) = self.history.events(chunk.number, scratch) else { return };
        let facts = &chunk.facts;
        let (mut ticks, mut scale) = (facts.begin_ticks, Scale::new(facts.thread).of(of));
        for item in events {
            let Ok((dt, event)) = item else { return };
            ticks = ticks.wrapping_add(dt);
            if ticks > last_ticks {
                return;
            }
            if !scale.follow(&event, |rate| self.rates.mean(facts.process, rate)) {
                visit(ticks, &event, &scale.changes(&event, ticks));
            }
        }
    }
}
