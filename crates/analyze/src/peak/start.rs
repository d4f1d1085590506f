//! What was live in a process before the first of its events that is there: something only where a ring has
//! evicted the events before.
//!
//! Where the recording has a table of what was live at the end, that less what the events that are there have
//! added is what was live before them, stack by stack. Else it is what the evicted events add up to, of no stack.

use heapscribe_formats::Evicted;

use super::live_end::LiveEnd;
use super::net::{Held, Net};
use super::reader::ChangeReader;
use crate::events::Blocks;
use crate::input::{Clock, History, NumberedChunk};
use crate::sampling::{Half, Moments};
use crate::stacks::StackTable;
use crate::timeline::Grid;

/// What was live before the events of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveAtStart {
    /// Bytes at the begin of the grid: where the window of a ring begins, of which all events are there. Those
    /// before it, which a thread that is seldom at work has left behind, are among what was before.
    pub(crate) bytes: i64,
    /// The same of the program's own pools.
    pub(crate) pool_bytes: i64,
    /// Before all events, by stack.
    pub(crate) net: Net,
    /// The same of pools.
    pub(crate) pools: Net,
    /// Whether there is no table of what was live at the end, so that stacks are known of some blocks only, and what
    /// evicted events left live.
    pub(crate) lacks_table: Option<Held>,
}

impl LiveAtStart {
    /// Bytes at the begin of the grid, as a half of the sample has it.
    pub(crate) fn bytes_in(&self, half: Half) -> i64 {
        self.bytes.saturating_add(more_in(&self.net, half))
    }

    /// The same of pools.
    pub(crate) fn pool_bytes_in(&self, half: Half) -> i64 {
        self.pool_bytes.saturating_add(more_in(&self.pools, half))
    }
}

/// A process of a recording.
pub(crate) struct StartOf<'a, H> {
    pub(crate) evicted: &'a Evicted,
    pub(crate) end: Option<&'a LiveEnd>,
    /// Whether any of its blocks were sampled: what the evicted ones stood for is not known.
    pub(crate) is_sampled: bool,
    pub(crate) chunks: &'a [NumberedChunk],
    pub(crate) clock: &'a Clock,
    pub(crate) grid: &'a Grid,
    pub(crate) reader: ChangeReader<'a, H>,
}

impl<H: History> StartOf<'_, H> {
    /// What was live; reads all events of a process of a ring.
    pub(crate) fn live(&self) -> LiveAtStart {
        if !self.grid.is_window {
            return LiveAtStart::default();
        }
        let (events, earlier_bytes) = self.events(Blocks::Heap);
        let (pool_events, earlier_pool_bytes) = self.events(Blocks::Pools);
        let mut start = match self.end.filter(|end| end.moment.is_after_all) {
            _ if self.evicted.is_empty() => LiveAtStart::default(),
            Some(end) => {
                let mut net = end.net.clone();
                net.remove(&events);
                let mut pools = end.pools.clone();
                pools.remove(&pool_events);
                let (bytes, pool_bytes) = (sum(&net.held).bytes, sum(&pools.held).bytes);
                LiveAtStart { bytes, pool_bytes, net, pools, lacks_table: None }
            }
            None if self.is_sampled => LiveAtStart::default(),
            None => {
                let left = Held::left_by(self.evicted);
                LiveAtStart { bytes: left.bytes, lacks_table: Some(left), ..LiveAtStart::default() }
            }
        };
        start.bytes = start.bytes.wrapping_add(earlier_bytes);
        start.pool_bytes = start.pool_bytes.wrapping_add(earlier_pool_bytes);
        start
    }

    /// What all events change, and how many bytes those before the window.
    fn events(&self, of: Blocks) -> (Net, i64) {
        let window_ticks = self.clock.first_tick_at(self.grid.begin_ns);
        let (mut net, mut earlier_bytes, mut scratch) = (Net::default(), 0i64, H::Scratch::default());
        for chunk in self.chunks {
            self.reader.each_change(chunk, of, u64::MAX, &mut scratch, |ticks, changes| {
                net.change(changes);
                if ticks < window_ticks {
                    earlier_bytes = earlier_bytes.wrapping_add(changes.net_bytes());
                }
            });
        }
        (net, earlier_bytes)
    }
}

/// How many bytes more a half of the sample says than all of it.
fn more_in(net: &Net, half: Half) -> i64 {
    let of_class =
        |class: &Moments| class.bytes.halves[half as usize].value.saturating_sub(class.bytes.value);
    let more: i128 = net.sampled.classes.values().map(of_class).sum();
    i64::try_from(more).unwrap_or(0)
}

fn sum(held: &StackTable<Held>) -> Held {
    held.rows().iter().fold(Held::default(), |mut sum, (_, held)| {
        sum.add(held);
        sum
    })
}
