//! What is live in a process while its events pass by in the order of time, and the most of it.
//!
//! The level of a moment is that after *all* events of the moment, as in every report: a free on one core and an
//! allocation on another have no order when their clocks read the same, and none that we might choose may invent
//! a peak. A free counts when its clock says so, also where the allocation seems to follow it.

use heapscribe_analyze::events::Scale;
use heapscribe_wire::record::Event;

use crate::in_order::At;

/// What was live at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveMoment {
    /// Bytes; below 0 where blocks were freed whose allocations are missing.
    pub bytes: i64,
    /// How many blocks they were.
    pub blocks: i64,
    /// When it was, ns since the trace's start.
    pub ns: u64,
}

/// The level so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveLevel {
    now: LiveMoment,
    peak: LiveMoment,
}

impl LiveLevel {
    /// Blocks that were live before the first event.
    pub fn before(&mut self, size_bytes: u64) {
        self.add(size_bytes as i64, 1);
    }

    /// Takes an event. When it is the first of a moment, the level of the moment before is final, and given.
    pub fn event(&mut self, at: At, event: &Event) -> Option<LiveMoment> {
        let ended = (at.ns > self.now.ns).then(|| self.end_moment());
        self.now.ns = self.now.ns.max(at.ns);
        let changes = Scale::new(at.thread).changes(event, at.ticks);
        let blocks = i64::from(changes.allocated.is_some()) - i64::from(changes.freed.is_some());
        self.add(changes.net_bytes(), blocks);
        ended
    }

    /// No more events: the last moment.
    pub fn end_moment(&mut self) -> LiveMoment {
        if self.now.bytes > self.peak.bytes {
            self.peak = self.now;
        }
        self.now
    }

    /// The highest moment that has ended.
    pub fn peak(&self) -> LiveMoment {
        self.peak
    }

    fn add(&mut self, bytes: i64, blocks: i64) {
        self.now.bytes = self.now.bytes.saturating_add(bytes);
        self.now.blocks = self.now.blocks.saturating_add(blocks);
    }
}

#[cfg(test)]
mod tests;
