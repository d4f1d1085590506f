//! Threads whose events often have the same time: whoever reads them in order finds the peak of the report.

use heapscribe_analyze::{Options, Recording, analyze};
use heapscribe_formats::{ChunkInfo, ProcessInfo, SessionInfo, Trace, Writer, gotrace};
use heapscribe_symbols::Resolver;
use heapscribe_wire::ids::{StackId, ThreadId};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Block, Call, Event};
use proptest::prelude::*;

use super::*;
use crate::in_order::InOrder;
use crate::memtrace::from::{self, Sizes};
use crate::{gotrace as to_gotrace, memtrace};

const BEGIN_TICKS: u64 = 1_000_000;
/// Longer than a us, so that no two moments are one in a memtrace file.
const TICK_LOG2: u32 = 10;
const THREADS: usize = 4;
/// Events of a chunk, at most.
const CHUNK_EVENTS: usize = 5;

/// What a thread does: which thread, how many ticks later, what, and a choice of block or size.
type Step = (usize, u64, u8, u8);

/// An event and its ticks.
type Timed = (u64, Event);

#[derive(Clone, Copy)]
struct Live {
    thread: usize,
    ticks: u64,
    size_bytes: u64,
}

impl Live {
    /// As the recorder writes it: of a birth that is ahead of the clock the age is 0.
    fn freed_by(self, thread: usize, ticks: u64) -> Block {
        Block {
            size_bytes: self.size_bytes,
            stack: StackId::UNKNOWN,
            age_ticks: ticks.saturating_sub(self.ticks),
            birth_thread: (self.thread != thread).then_some(ThreadId(self.thread as u32 + 1)),
        }
    }
}

/// What a history is, thread by thread, and whether a block was freed at or before its birth.
struct History {
    threads: [Vec<Timed>; THREADS],
    has_early_frees: bool,
}

/// The clock of each thread is behind by its number of lags.
fn history(steps: &[Step], lag_ticks: u64) -> History {
    let mut made = History { threads: Default::default(), has_early_frees: false };
    let (mut now, mut live) = (BEGIN_TICKS + 100, Vec::<Live>::new());
    for &(thread, wait, what, choice) in steps {
        now += wait;
        let last = made.threads[thread].last().map_or(0, |(ticks, _)| ticks + 1);
        let ticks = (now - thread as u64 * lag_ticks).max(last);
        let size_bytes = (u64::from(choice) + 1) * 8;
        let freed = (what % 4 < 2 && !live.is_empty()).then(|| live.remove(usize::from(choice) % live.len()));
        let old = freed.map(|block| block.freed_by(thread, ticks));
        made.has_early_frees |= freed.is_some_and(|block| block.thread != thread && block.ticks >= ticks);
        let (call, stack) = (Call::Malloc, StackId::UNKNOWN);
        let event = match old {
            Some(block) if what % 4 == 0 => Event::Free { call: Call::Free, block },
            Some(old) => Event::Realloc { call: Call::Realloc, old, size_bytes, stack },
            None => Event::Alloc { call, size_bytes, stack, align_log2: 0 },
        };
        if !matches!(event, Event::Free { .. }) {
            live.push(Live { thread, ticks, size_bytes });
        }
        made.threads[thread].push((ticks, event));
    }
    made
}

fn written(history: &History) -> Vec<u8> {
    let (mut trace, mut writer) = (Vec::new(), Writer::new());
    writer.start(&SessionInfo::default(), &mut trace);
    let created_mono_ns = BEGIN_TICKS << TICK_LOG2;
    let created = ProcessInfo { pid: 5, clock_shift: TICK_LOG2, created_mono_ns, ..ProcessInfo::default() };
    let process = writer.process(&ProcessInfo { created_ticks: BEGIN_TICKS, ..created }, &mut trace);
    for (number, events) in (1..).zip(&history.threads) {
        let mut begin_ticks = BEGIN_TICKS;
        for (sequence, events) in (0..).zip(events.chunks(CHUNK_EVENTS)) {
            let (mut payload, mut last) = (Vec::new(), begin_ticks);
            for (ticks, event) in events {
                let mut at = [0; EVENT_BYTES_MAX];
                let len = event.encode(ticks - last, &mut at);
                payload.extend_from_slice(&at[..len]);
                last = *ticks;
            }
            let [begin_mono_ns, end_mono_ns] = [begin_ticks, last].map(|ticks| ticks << TICK_LOG2);
            let times = ChunkInfo {
                begin_ticks,
                begin_mono_ns,
                end_ticks: last,
                end_mono_ns,
                ..ChunkInfo::default()
            };
            writer.events(process, &ChunkInfo { thread: number, sequence, ..times }, &payload, &mut trace);
            begin_ticks = last;
        }
    }
    writer.finish(&mut trace);
    trace
}

/// The peak of the report: bytes, and ns since the trace's start.
fn reported(trace: &Trace<Vec<u8>>) -> (i64, u64) {
    let answer = analyze(&Recording::new(trace), &Options { timeline_steps: 7, ..Options::default() });
    let peak = &answer.processes[0].peak;
    (peak.bytes as i64, peak.time_ns + answer.begin_mono_ns - trace.start_mono_ns())
}

/// The peak of the levels, and the most that is live when events are added up one by one.
fn in_order(trace: &Trace<Vec<u8>>) -> (LiveMoment, i64) {
    let mut order = InOrder::new(trace, &trace.processes()[0]);
    let (mut level, mut bytes, mut most) = (LiveLevel::default(), 0, 0);
    while let Some((at, event)) = order.next(trace) {
        level.event(at, &event);
        bytes += Scale::new(at.thread).changes(&event, at.ticks).net_bytes();
        most = most.max(bytes);
    }
    level.end_moment();
    (level.peak(), most)
}

fn of_gotrace(trace: &Trace<Vec<u8>>) -> u64 {
    let mut file = Vec::new();
    let process = &trace.processes()[0];
    to_gotrace::convert(trace, process, &Resolver::new("/nonexistent"), &mut file).unwrap();
    let file = gotrace::Trace::open(file).unwrap();
    heapscribe_analyze::go::analyze(&file, &Options::default()).unwrap().curve.peak.bytes
}

/// The peak of a memtrace file.
fn of_memtrace(trace: &Trace<Vec<u8>>) -> i64 {
    let (mut file, mut ours) = (Vec::new(), Vec::new());
    let process = &trace.processes()[0];
    memtrace::to::convert(trace, process, &Resolver::new("/nonexistent"), &mut file).unwrap();
    let options = heapscribe_formats::memtrace::ReadOptions::default();
    let mut reader = heapscribe_formats::memtrace::Reader::open(file, options).unwrap();
    from::convert(&mut reader, &mut ours, Sizes::AsAsked).unwrap();
    reported(&Trace::open(ours).unwrap()).0
}

/// Peak in bytes.
fn check(steps: &[Step], lag_ticks: u64) -> i64 {
    let history = history(steps, lag_ticks);
    let trace = Trace::open(written(&history)).unwrap();
    let (bytes, ns) = reported(&trace);
    let (peak, one_by_one) = in_order(&trace);
    assert_eq!((peak.bytes, peak.bytes > 0 && peak.ns != ns), (bytes, false), "{peak:?} {ns}");
    assert_eq!(of_gotrace(&trace), bytes.unsigned_abs());
    if !history.has_early_frees {
        assert_eq!(one_by_one, bytes);
    }
    // A domain's events are together in a memtrace file, so that those of several are in no order.
    if history.threads[1..].iter().all(Vec::is_empty) {
        assert_eq!(of_memtrace(&trace), bytes);
    }
    bytes
}

#[test]
fn a_free_at_the_tick_of_another_threads_allocation_makes_no_peak() {
    // Thread 1 has 800 bytes; thread 2 allocates 400 at the tick at which thread 4 frees those.
    assert_eq!(check(&[(0, 0, 3, 99), (1, 9, 3, 49), (3, 0, 0, 0)], 0), 800);
    // The same with realloc, which makes 472 bytes of the block.
    assert_eq!(check(&[(0, 0, 3, 99), (1, 9, 3, 49), (3, 0, 1, 58)], 0), 872);
    // A block that is freed at its birth is none that was ever live.
    assert_eq!(check(&[(0, 0, 3, 99), (1, 9, 3, 49), (3, 0, 0, 1)], 0), 800);
    // Level 800, then 408 in a moment that begins with an allocation: what it frees is allocated later, by realloc.
    assert_eq!(check(&[(0, 0, 3, 99), (0, 3, 1, 49), (2, 1, 3, 0), (3, 1, 0, 0)], 1), 800);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_readers_find_the_peak_of_the_report(
        steps in prop::collection::vec((0..THREADS, 0u64..2, any::<u8>(), any::<u8>()), 0..120),
        threads in 1..=THREADS,
        lag_ticks in 0u64..3,
    ) {
        let steps: Vec<Step> = steps.iter().map(|step| (step.0 % threads, step.1, step.2, step.3)).collect();
        check(&steps, lag_ticks);
    }
}
