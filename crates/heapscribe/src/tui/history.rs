//! What changes from look to look: the curves, and how much was allocated and freed in between.

use std::collections::VecDeque;

use super::look::Look;

/// Looks of which the curves are drawn.
const POINTS: usize = 240;

/// A point of both curves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Point {
    pub(crate) heap_bytes: u64,
    pub(crate) rss_bytes: u64,
}

/// The newest points.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<Point>);

impl History {
    pub(crate) fn push(&mut self, point: Point) {
        self.0.push_back(point);
        if self.0.len() > POINTS {
            self.0.pop_front();
        }
    }

    /// One of the curves, the newest value last.
    pub(crate) fn curve(&self, of: fn(&Point) -> u64) -> Vec<u64> {
        self.0.iter().map(of).collect()
    }
}

/// What all threads had done at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Counters {
    pub(crate) mono_ns: u64,
    /// What recorded blocks are worth.
    mean_bytes: Option<u64>,
    allocated_bytes: u64,
    allocated_blocks: u64,
    freed_bytes: u64,
}

/// The same per second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Rates {
    pub(crate) allocated_bytes: f64,
    pub(crate) allocated_blocks: f64,
    pub(crate) freed_bytes: f64,
}

impl Counters {
    /// Those of a look; none before the first.
    pub(crate) fn of(look: &Look) -> Option<Counters> {
        (look.mono_ns != 0).then_some(Counters {
            mono_ns: look.mono_ns,
            mean_bytes: look.mean_bytes,
            allocated_bytes: look.allocated_bytes,
            allocated_blocks: look.allocated_blocks,
            freed_bytes: look.freed_bytes,
        })
    }

    /// The rates from then to now; none when blocks were not recorded in the same way.
    pub(crate) fn rates(&self, now: &Counters) -> Option<Rates> {
        if self.mean_bytes != now.mean_bytes {
            return None;
        }
        let seconds = now.mono_ns.checked_sub(self.mono_ns).filter(|ns| *ns > 0)? as f64 / 1e9;
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        Some(Rates {
            allocated_bytes: rate(now.allocated_bytes, self.allocated_bytes),
            allocated_blocks: rate(now.allocated_blocks, self.allocated_blocks),
            freed_bytes: rate(now.freed_bytes, self.freed_bytes),
        })
    }
}
