//! Segments: what one chunk did to the heap's size within one step of a grid over time.
//!
//! A segment is one thread's run of events, so besides its net effect it knows *exactly* how high above
//! its begin it ever was. That makes the search for the peak cheap: a step in which one thread was at
//! work needs no second look, one with several threads has an upper bound, and only the steps whose
//! bound beats the best known level are decoded again (see `peak`).

use crate::input::{ChunkFacts, Clock};
use crate::weight::Share;

/// Equal steps over a range of time, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grid {
    pub(crate) begin_ns: u64,
    /// First ns after the range.
    pub(crate) end_ns: u64,
    pub(crate) step_ns: u64,
    pub(crate) steps: u32,
}

impl Grid {
    /// At most `steps` steps over a range that is not empty.
    pub(crate) fn new(begin_ns: u64, end_ns: u64, steps: u32) -> Grid {
        let end_ns = end_ns.max(begin_ns.saturating_add(1));
        let length = end_ns - begin_ns;
        let step_ns = length.div_ceil(u64::from(steps.max(1)));
        Grid { begin_ns, end_ns, step_ns, steps: length.div_ceil(step_ns) as u32 }
    }

    /// The step of a moment; the nearest one for moments outside.
    pub(crate) fn step_of(&self, ns: u64) -> u32 {
        (ns.saturating_sub(self.begin_ns) / self.step_ns).min(u64::from(self.steps - 1)) as u32
    }

    /// The first moment of a step.
    pub(crate) fn begin_of(&self, step: u32) -> u64 {
        self.begin_ns.saturating_add(self.step_ns.saturating_mul(u64::from(step)))
    }
}

/// What one chunk did within one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) chunk: u32,
    pub(crate) step: u32,
    pub(crate) events: u32,
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    /// Bytes that came less bytes that went.
    pub(crate) net_bytes: i64,
    /// The most that `net_bytes` ever was, at least 0.
    pub(crate) rise_bytes: i64,
    /// When it first was that.
    pub(crate) rise_ns: u64,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

/// Cuts a chunk into segments while its events pass by.
pub(crate) struct Cutter<'a> {
    grid: &'a Grid,
    clock: &'a Clock,
    out: &'a mut Vec<Segment>,
    /// Where the next segment starts.
    next_ticks: u64,
    ticks: u64,
    rise_ticks: u64,
    open: Segment,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(
        (number, chunk): (usize, &ChunkFacts),
        clock: &'a Clock,
        grid: &'a Grid,
        out: &'a mut Vec<Segment>,
    ) -> Self {
        let open = Segment {
            process: chunk.process as u32,
            thread: chunk.thread,
            chunk: number as u32,
            step: 0,
            events: 0,
            allocations: 0,
            allocated_bytes: 0,
            net_bytes: 0,
            rise_bytes: 0,
            rise_ns: 0,
            first_ns: 0,
            last_ns: 0,
        };
        Cutter { grid, clock, out, next_ticks: 0, ticks: 0, rise_ticks: 0, open }
    }

    /// An event is next, at this time.
    #[inline(always)]
    pub(crate) fn at(&mut self, ticks: u64) {
        if ticks >= self.next_ticks {
            self.cut(ticks);
        }
        self.ticks = ticks;
        self.open.events += 1;
    }

    /// The step of the last event.
    pub(crate) fn step(&self) -> u32 {
        self.open.step
    }

    /// A block came.
    #[inline(always)]
    pub(crate) fn came(&mut self, share: Share) {
        self.open.allocations += share.blocks;
        self.open.allocated_bytes = self.open.allocated_bytes.wrapping_add(share.bytes);
        self.open.net_bytes = self.open.net_bytes.wrapping_add(share.bytes as i64);
        if self.open.net_bytes > self.open.rise_bytes {
            self.open.rise_bytes = self.open.net_bytes;
            self.rise_ticks = self.ticks;
        }
    }

    /// A block went.
    #[inline(always)]
    pub(crate) fn went(&mut self, share: Share) {
        self.open.net_bytes = self.open.net_bytes.wrapping_sub(share.bytes as i64);
    }

    #[cold]
    fn cut(&mut self, ticks: u64) {
        self.close();
        let ns = self.clock.ns(ticks);
        let step = self.grid.step_of(ns);
        self.next_ticks = if step + 1 < self.grid.steps {
            self.clock.first_tick_at(self.grid.begin_of(step + 1))
        } else {
            u64::MAX
        };
        self.rise_ticks = ticks;
        self.open = Segment {
            step,
            first_ns: ns,
            events: 0,
            allocations: 0,
            allocated_bytes: 0,
            net_bytes: 0,
            rise_bytes: 0,
            ..self.open
        };
    }

    /// No more events.
    pub(crate) fn close(&mut self) {
        if self.open.events != 0 {
            self.open.rise_ns = self.clock.ns(self.rise_ticks);
            self.open.last_ns = self.clock.ns(self.ticks);
            self.out.push(self.open);
        }
    }
}
