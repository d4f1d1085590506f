//! Sums over the events of a chunk. The index of a trace holds these, so that totals, timelines and the search for
//! the peak need not decode the events.

use heapscribe_wire::record::{Call, Event, Events, ShortEvent};

use super::chunk::ChunkInfo;

/// Sums over the events of one chunk. They saturate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChunkSums {
    /// Events, `lost` ones and other notes and those of pools included; these last are in no other sum but
    /// that of the calls: a pool's blocks lie inside blocks of the heap.
    pub events: u32,
    /// Blocks allocated, by `realloc(NULL, n)` too.
    pub allocs: u32,
    /// Known blocks freed, by `realloc(p, 0)` too.
    pub frees: u32,
    /// Known blocks resized.
    pub reallocs: u32,
    /// Calls that gave NULL.
    pub failed: u32,
    /// Unknown blocks freed.
    pub unknown_frees: u32,
    /// Unknown blocks resized.
    pub unknown_reallocs: u32,
    /// Calls by function, the failed ones too; index is a [`Call`] as a number.
    pub calls: [u32; Call::ALL.len()],
    /// Events that are missing in this chunk.
    pub lost_events: u64,
    /// Bytes allocated, by alloc, realloc and unknown realloc.
    pub alloc_bytes: u64,
    /// Bytes freed of known blocks, by free and realloc.
    pub freed_bytes: u64,
    /// Bytes allocated less bytes freed.
    pub net_bytes: i64,
    /// The largest `net_bytes` after any of the events, at least 0 (before the first).
    pub max_net_bytes: i64,
    /// Ticks of the event after which `max_net_bytes` was first reached; `begin_ticks` when it is 0.
    pub max_net_ticks: u64,
    /// Blocks allocated less known blocks freed.
    pub net_blocks: i64,
    /// Ticks of the first event; `begin_ticks` without one.
    pub first_ticks: u64,
    /// Ticks of the last event; `begin_ticks` without one.
    pub last_ticks: u64,
    /// Bytes that were no events when the trace was written and are not in it.
    pub cut_bytes: u32,
}

/// Calls of the heap among those by function: without those that a program notes of its own pools.
pub(super) fn heap_calls(by_function: impl Iterator<Item = u64>) -> u64 {
    let of_heap = by_function.zip(Call::ALL).filter(|(_, call)| !call.is_pool());
    of_heap.map(|(n, _)| n).fold(0, u64::saturating_add)
}

impl ChunkSums {
    /// Calls of the heap.
    pub fn heap_calls(&self) -> u64 {
        heap_calls(self.calls.iter().copied().map(u64::from))
    }

    /// Calls of the program's pools.
    pub fn pool_calls(&self) -> u64 {
        self.calls.iter().copied().map(u64::from).sum::<u64>() - self.heap_calls()
    }

    /// Of a chunk without events.
    pub fn begin(info: &ChunkInfo) -> ChunkSums {
        ChunkSums {
            max_net_ticks: info.begin_ticks,
            first_ticks: info.begin_ticks,
            last_ticks: info.begin_ticks,
            ..ChunkSums::default()
        }
    }

    /// Of a chunk's events up to the first that is none.
    pub fn of(info: &ChunkInfo, payload: &[u8]) -> ChunkSums {
        let mut sums = ChunkSums::begin(info);
        let mut events = Events::new(payload);
        while let Some(Ok((dt, event))) = events.next() {
            sums.add_event(dt, &event);
        }
        sums.cut_bytes = u32::try_from(payload.len() - events.offset()).unwrap_or(u32::MAX);
        sums
    }

    /// Adds the next event, so many ticks after the one before it.
    #[inline(always)]
    pub fn add_event(&mut self, dt: u64, event: &Event) {
        if matches!(event, Event::Rate { .. } | Event::Took { .. }) {
            return; // a property of the calls around it, not an event in time
        }
        self.pass(dt);
        self.add(event);
    }

    /// As [`Self::add_event`].
    #[inline(always)]
    pub(crate) fn add_short(&mut self, event: &ShortEvent) {
        self.pass(event.dt);
        match event.age_ticks {
            None => self.alloc(event.call, event.size_bytes),
            Some(_) => self.free(event.call, event.size_bytes),
        }
    }

    #[inline(always)]
    fn pass(&mut self, dt: u64) {
        self.last_ticks = self.last_ticks.wrapping_add(dt);
        if self.events == 0 {
            self.first_ticks = self.last_ticks;
        }
        self.events += 1;
    }

    #[inline(always)]
    fn add(&mut self, event: &Event) {
        if let Some(call) = event.call().filter(|call| call.is_pool()) {
            return self.call(call);
        }
        match *event {
            Event::Alloc { call, size_bytes, .. } => self.alloc(call, size_bytes),
            Event::Free { call, block } => self.free(call, block.size_bytes),
            Event::Realloc { call, old, size_bytes, .. } => {
                self.call(call);
                self.reallocs += 1;
                self.freed(old.size_bytes);
                self.allocated(size_bytes);
            }
            Event::Failed { call, .. } => {
                self.call(call);
                self.failed += 1;
            }
            Event::UnknownFree { call } => {
                self.call(call);
                self.unknown_frees += 1;
            }
            Event::UnknownRealloc { call, size_bytes, .. } => {
                self.call(call);
                self.unknown_reallocs += 1;
                self.allocated(size_bytes);
            }
            Event::Rate { .. } | Event::Took { .. } | Event::Note { .. } | Event::Mapping(_) => {}
            Event::Lost { count, .. } => self.lost_events = self.lost_events.saturating_add(count),
        }
    }

    #[inline(always)]
    fn call(&mut self, call: Call) {
        self.calls[call as usize] += 1;
    }

    #[inline(always)]
    fn alloc(&mut self, call: Call, size_bytes: u64) {
        self.call(call);
        self.allocs += 1;
        self.allocated(size_bytes);
    }

    #[inline(always)]
    fn free(&mut self, call: Call, size_bytes: u64) {
        self.call(call);
        self.frees += 1;
        self.freed(size_bytes);
    }

    #[inline(always)]
    fn allocated(&mut self, size_bytes: u64) {
        self.alloc_bytes = self.alloc_bytes.saturating_add(size_bytes);
        self.net_bytes = self.net_bytes.saturating_add_unsigned(size_bytes);
        self.net_blocks += 1;
        if self.net_bytes > self.max_net_bytes {
            self.max_net_bytes = self.net_bytes;
            self.max_net_ticks = self.last_ticks;
        }
    }

    #[inline(always)]
    fn freed(&mut self, size_bytes: u64) {
        self.freed_bytes = self.freed_bytes.saturating_add(size_bytes);
        self.net_bytes = self.net_bytes.saturating_sub_unsigned(size_bytes);
        self.net_blocks -= 1;
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::ids::StackId;

    use super::*;

    /// A ring of a program that allocates from its own pools alone said that it had called the heap a million times.
    #[test]
    fn calls_of_pools_are_none_of_the_heap() {
        let stack = StackId(1);
        let alloc = |call| Event::Alloc { call, size_bytes: 24, stack, align_log2: 0 };
        let mut sums = ChunkSums::default();
        for event in
            [alloc(Call::Malloc), alloc(Call::PoolAlloc), Event::UnknownFree { call: Call::PoolFree }]
        {
            sums.add(&event);
        }
        assert_eq!((sums.heap_calls(), sums.pool_calls(), sums.allocs), (1, 2, 1));
    }
}
