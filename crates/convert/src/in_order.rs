//! The events of a process of ours in the order of time. Of each thread one chunk is in memory at most: that
//! which its time has come to.
//!
//! Clocks of two cores read the same now and then. Of such events those come first that leave less live, so that a
//! reader who adds them up one by one finds the peak of the report, where the events of a moment have no order
//! ([`crate::live_level`]). Last comes the free of a block that another thread allocated at that very moment.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use heapscribe_analyze::events::Scale;
use heapscribe_formats::{ChunkInfo, Clock, Process, Scratch, Source, Trace};
use heapscribe_wire::ids::RateId;
use heapscribe_wire::record::{Event, Events};

use crate::native::thread_chunk::encode;

/// The thread, time and sampling rate of an event.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Number of the thread in its process, from 1.
    pub thread: u32,
    /// Ticks of the process's clock.
    pub ticks: u64,
    /// Nanoseconds since the trace's start.
    pub ns: u64,
    /// The sampling rate at which the thread recorded then.
    pub rate: RateId,
}

/// Another order that could have been: each thread is late by some part of a window, another part in each
/// window of its time. Its own events stay in their order.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle {
    /// Seed of the delays: equal seeds give equal orders.
    pub seed: u64,
    /// Length of a window, ns; no event is delayed by more.
    pub window_ns: u64,
}

impl Shuffle {
    fn late_ns(self, thread: u32, ns: u64) -> u64 {
        let window = self.window_ns.max(1);
        mixed(self.seed ^ u64::from(thread).rotate_left(32) ^ mixed(ns / window)) % window
    }
}

/// The events that are still to come.
pub struct InOrder {
    clock: Clock,
    shuffle: Option<Shuffle>,
    cursors: BTreeMap<u32, Cursor>,
    /// Threads by what is next in them: when, what that changes, and which thread.
    order: BinaryHeap<Reverse<(u64, i64, u32)>>,
    /// What could not be read so far.
    pub problems: Vec<String>,
}

impl InOrder {
    /// The events of a process, from its first one.
    pub fn new<S: Source>(trace: &Trace<S>, process: &Process) -> InOrder {
        let mut cursors: BTreeMap<u32, Cursor> = BTreeMap::new();
        for (number, chunk) in trace.chunks().iter().enumerate().filter(|(_, c)| c.process == process.index) {
            cursors.entry(chunk.info.thread).or_default().chunks.push_back(number);
        }
        let first_ns = |cursor: &Cursor| cursor.chunks.front().map(|chunk| trace.chunks()[*chunk].begin_ns);
        let firsts =
            cursors.iter().filter_map(|(thread, c)| Some(Reverse((first_ns(c)?, BEFORE_EVENTS, *thread))));
        let order = firsts.collect();
        InOrder { clock: trace.clock(process.index), shuffle: None, cursors, order, problems: Vec::new() }
    }

    /// The same in another order that could have been.
    pub fn shuffled(self, shuffle: Option<Shuffle>) -> InOrder {
        InOrder { shuffle, ..self }
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.cursors.len()
    }

    /// The thread that has the first event.
    pub fn first_thread(&self) -> Option<u32> {
        self.cursors.keys().next().copied()
    }

    /// The next event, of whatever thread.
    pub fn next<S: Source>(&mut self, trace: &Trace<S>) -> Option<(At, Event)> {
        while let Some(Reverse((ns, _, thread))) = self.order.pop() {
            let Some(cursor) = self.cursors.get_mut(&thread) else { continue };
            let at = At { thread, ticks: cursor.ticks, ns, rate: cursor.rate };
            let event = cursor.event.take();
            if let Some(next_ns) = cursor.next(trace, self.clock, &mut self.problems) {
                let late_ns = self.shuffle.map_or(0, |shuffle| shuffle.late_ns(thread, next_ns));
                let rank = cursor.event.map_or(BEFORE_EVENTS, |event| rank(&event));
                self.order.push(Reverse((next_ns.saturating_add(late_ns).max(ns), rank, thread)));
            }
            if let Some(event) = event {
                return Some((at, event));
            }
        }
        None
    }
}

/// The rank of a chunk that is still to be loaded.
const BEFORE_EVENTS: i64 = i64::MIN;

/// The place of an event among those of other threads at the same time: bytes that it leaves live.
fn rank(event: &Event) -> i64 {
    let freed = match event {
        Event::Free { block, .. } | Event::Realloc { old: block, .. } => Some(block),
        _ => None,
    };
    match freed {
        Some(block) if block.age_ticks == 0 && block.birth_thread.is_some() => i64::MAX,
        _ => Scale::new(0).changes(event, 0).net_bytes(),
    }
}

/// A thread on its way: its chunks, and the next event of the one that is loaded.
#[derive(Default)]
struct Cursor {
    chunks: VecDeque<usize>,
    /// The next chunk is loaded when its time has come, which it has.
    is_due: bool,
    info: ChunkInfo,
    payload: Vec<u8>,
    offset: usize,
    ticks: u64,
    rate: RateId,
    event: Option<Event>,
}

impl Cursor {
    /// Goes to the next event; when that is, ns since the trace's start. At the end of a chunk there is no
    /// event, but the begin of the next chunk; loading it is left to the next call. `None` at the thread's end.
    fn next<S: Source>(&mut self, trace: &Trace<S>, clock: Clock, problems: &mut Vec<String>) -> Option<u64> {
        loop {
            let mut events = Events::new(self.payload.get(self.offset..).unwrap_or_default());
            let found = events.next();
            self.offset += events.offset();
            match found {
                Some(Ok((_, Event::Rate { rate }))) => self.rate = rate,
                Some(Ok((dt, event))) => {
                    self.ticks = self.ticks.wrapping_add(dt);
                    self.event = Some(event);
                    return Some(clock.time_ns(&self.info, self.ticks));
                }
                Some(Err(bad)) => {
                    problems.push(format!("{bad}; skipped the rest of the chunk"));
                    self.payload.clear();
                }
                None if std::mem::replace(&mut self.is_due, false) => self.load(trace, problems)?,
                None => {
                    (self.payload, self.offset) = (Vec::new(), 0);
                    self.is_due = true;
                    return self.chunks.front().map(|number| trace.chunks()[*number].begin_ns);
                }
            }
        }
    }

    fn load<S: Source>(&mut self, trace: &Trace<S>, problems: &mut Vec<String>) -> Option<()> {
        let number = self.chunks.pop_front()?;
        (self.offset, self.rate) = (0, RateId::default());
        self.payload.clear();
        match trace.load_chunk(&trace.chunks()[number], &mut Scratch::default()) {
            Ok(chunk) => {
                self.info = chunk.info;
                self.ticks = chunk.info.begin_ticks;
                if let Err(e) = encode(chunk, &mut self.payload) {
                    problems.push(e.to_string());
                }
            }
            Err(e) => problems.push(e.to_string()),
        }
        Some(())
    }
}

/// All bits of a number depend on all of the other (splitmix64).
pub fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

#[cfg(test)]
mod tests {
    use heapscribe_formats::{ProcessInfo, SessionInfo, Writer};
    use heapscribe_wire::ids::StackId;
    use heapscribe_wire::limits::EVENT_BYTES_MAX;
    use heapscribe_wire::record::Call;

    use super::*;

    const CHUNKS: u64 = 4;
    const EVENTS: u64 = 50;

    /// Three threads that allocate at about the same times; sizes say which event of a thread it is.
    fn three_threads() -> Vec<u8> {
        let mut trace = Vec::new();
        let mut writer = Writer::new();
        writer.start(&SessionInfo::default(), &mut trace);
        let process = writer.process(&ProcessInfo { pid: 5, ..ProcessInfo::default() }, &mut trace);
        for (sequence, thread) in (0..CHUNKS).flat_map(|n| (1..=3).map(move |thread| (n, thread))) {
            let begin_ticks = 1000 + sequence * 10_000 + u64::from(thread) * 7;
            let info = ChunkInfo {
                thread,
                sequence,
                begin_ticks,
                begin_mono_ns: begin_ticks << heapscribe_wire::head::MONOTONIC_SHIFT,
                ..ChunkInfo::default()
            };
            let mut payload = Vec::new();
            for number in 0..EVENTS {
                let size_bytes = sequence * EVENTS + number;
                let event =
                    Event::Alloc { call: Call::Malloc, size_bytes, stack: StackId::UNKNOWN, align_log2: 0 };
                let mut at = [0; EVENT_BYTES_MAX];
                let n = event.encode(20 + u64::from(thread), &mut at);
                payload.extend_from_slice(&at[..n]);
            }
            writer.events(process, &info, &payload, &mut trace);
        }
        writer.finish(&mut trace);
        trace
    }

    /// Threads in the order of their events, and the sizes of each thread's.
    fn events(trace: &Trace<Vec<u8>>, shuffle: Option<Shuffle>) -> (Vec<u32>, BTreeMap<u32, Vec<u64>>) {
        let mut order = InOrder::new(trace, &trace.processes()[0]).shuffled(shuffle);
        let (mut threads, mut sizes, mut last_ns) = (Vec::new(), BTreeMap::<_, Vec<u64>>::new(), 0);
        while let Some((at, event)) = order.next(trace) {
            let Event::Alloc { size_bytes, .. } = event else { panic!("{event:?}") };
            assert!(at.ns >= last_ns, "{} after {last_ns}", at.ns);
            last_ns = at.ns;
            threads.push(at.thread);
            sizes.entry(at.thread).or_default().push(size_bytes);
        }
        assert_eq!(order.problems, Vec::<String>::new());
        (threads, sizes)
    }

    #[test]
    fn another_order_has_all_events_and_each_threads_in_their_order() {
        let trace = Trace::open(three_threads()).unwrap();
        let (recorded, sizes) = events(&trace, None);
        let all: Vec<u64> = (0..CHUNKS * EVENTS).collect();
        assert_eq!(sizes, BTreeMap::from([(1, all.clone()), (2, all.clone()), (3, all)]));
        let mut orders = vec![recorded];
        for seed in 1..=3 {
            let (threads, other) = events(&trace, Some(Shuffle { seed, window_ns: 2_000 }));
            assert_eq!(other, sizes);
            assert!(!orders.contains(&threads), "seed {seed} changes nothing");
            orders.push(threads);
        }
        assert_eq!(events(&trace, Some(Shuffle { seed: 1, window_ns: 1 })).0, orders[0]);
    }
}
