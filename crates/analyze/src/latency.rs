//! How long calls took: a histogram for each kind of call, the worst calls, and the worst over time. Summed
//! like all else, each chunk alone.
//!
//! ```text
//!   class of a time   below 64 ns: the time itself
//!                     else: its highest bit, and the five bits below that      32 classes for each doubling
//! ```
//! So a percentile is told to a 32nd, whatever its size; least, most and mean are exact.

use std::collections::BTreeMap;

use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Call, Event};

use crate::answer::{CallKind, CallLatency};

/// Bits of a time that its class keeps below the highest.
const BITS: u32 = 5;
/// Times below this are classes of their own.
const EXACT_NS: u64 = 2 << BITS;
/// Worst calls of each kind that are kept.
const WORST: usize = 10;

/// The class of a time.
fn class_of(ns: u64) -> usize {
    if ns < EXACT_NS {
        return ns as usize;
    }
    let shift = ns.ilog2() - BITS;
    ((shift as usize) << BITS) + (ns >> shift) as usize
}

/// The longest time of a class.
fn longest_of(class: usize) -> u64 {
    if class < EXACT_NS as usize {
        return class as u64;
    }
    let shift = (class >> BITS) - 1;
    let low = ((class & ((1 << BITS) - 1)) | 1 << BITS) as u64;
    (low << shift) + ((1 << shift) - 1)
}

/// A call that took long.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Slow {
    pub(crate) ns: u64,
    pub(crate) ticks: u64,
    pub(crate) thread: u32,
    pub(crate) call: Call,
    pub(crate) size_bytes: u64,
    /// Who called; of a block that went, who had asked for it.
    pub(crate) stack: StackId,
}

/// Calls of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    /// By class, as far as there are any.
    classes: Vec<u64>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    /// The longest first.
    pub(crate) worst: Vec<Slow>,
}

impl Times {
    fn add(&mut self, slow: Slow) {
        let class = class_of(slow.ns);
        if class >= self.classes.len() {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        self.min_ns = if self.count == 0 { slow.ns } else { self.min_ns.min(slow.ns) };
        self.max_ns = self.max_ns.max(slow.ns);
        self.count += 1;
        self.sum_ns += u128::from(slow.ns);
        if self.worst.len() < WORST || self.worst.last().is_some_and(|last| last.ns <= slow.ns) {
            self.keep(slow);
        }
    }

    /// Puts a call among the worst. Of equal ones the first by time stays, so that the order in which chunks
    /// are summed does not show.
    fn keep(&mut self, slow: Slow) {
        let rank = |s: &Slow| (std::cmp::Reverse(s.ns), s.ticks, s.thread);
        let at = self.worst.partition_point(|other| rank(other) < rank(&slow));
        self.worst.insert(at, slow);
        self.worst.truncate(WORST);
    }

    /// Adds others of the same process.
    fn merge(&mut self, other: Times) {
        self.absorb(&other);
        other.worst.into_iter().for_each(|slow| self.keep(slow));
    }

    /// Adds others, but for their worst calls.
    pub(crate) fn absorb(&mut self, other: &Times) {
        if other.count == 0 {
            return;
        }
        if self.classes.len() < other.classes.len() {
            self.classes.resize(other.classes.len(), 0);
        }
        self.classes.iter_mut().zip(&other.classes).for_each(|(mine, theirs)| *mine += theirs);
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
    }

    /// The time that so many of 10,000 calls did not exceed, to a 32nd.
    fn percentile(&self, of_10_000: u64) -> u64 {
        let wanted = (u128::from(self.count) * u128::from(of_10_000)).div_ceil(10_000).max(1);
        let mut seen = 0u128;
        let class = self.classes.iter().position(|n| {
            seen += u128::from(*n);
            seen >= wanted
        });
        class.map_or(self.max_ns, longest_of).clamp(self.min_ns, self.max_ns)
    }

    /// What the answer says of them; `None` when there are none.
    pub(crate) fn answer(&self, kind: CallKind) -> Option<CallLatency> {
        (self.count > 0).then(|| CallLatency {
            kind,
            count: self.count,
            min_ns: self.min_ns,
            mean_ns: self.sum_ns as f64 / self.count as f64,
            p50_ns: self.percentile(5_000),
            p90_ns: self.percentile(9_000),
            p99_ns: self.percentile(9_900),
            p99_9_ns: self.percentile(9_990),
            p99_99_ns: self.percentile(9_999),
            max_ns: self.max_ns,
            worst: Vec::new(),
        })
    }
}

/// What calls took within a step of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct StepTimes {
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    pub(crate) max_ns: u64,
}

impl StepTimes {
    pub(crate) fn merge(&mut self, other: &StepTimes) {
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// How long the calls of a process took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latency {
    pub(crate) kinds: BTreeMap<CallKind, Times>,
    /// By step of the grid.
    pub(crate) steps: BTreeMap<u32, StepTimes>,
}

impl Latency {
    /// A call took so long.
    #[cold]
    pub(crate) fn took(&mut self, event: &Event, (ns, step): (u64, u32), (thread, ticks): (u32, u64)) {
        let (call, size_bytes, stack) = match *event {
            Event::Alloc { call, size_bytes, stack, .. }
            | Event::Failed { call, size_bytes, stack }
            | Event::Realloc { call, size_bytes, stack, .. }
            | Event::UnknownRealloc { call, size_bytes, stack } => (call, size_bytes, stack),
            Event::Free { call, block } => (call, block.size_bytes, block.stack),
            Event::UnknownFree { call } => (call, 0, StackId::UNKNOWN),
            Event::Rate { .. } | Event::Took { .. } | Event::Lost { .. } | Event::Note { .. } => return,
        };
        let Some(kind) = CallKind::of(call) else { return };
        self.kinds.entry(kind).or_default().add(Slow { ns, ticks, thread, call, size_bytes, stack });
        self.steps.entry(step).or_default().merge(&StepTimes { count: 1, sum_ns: ns, max_ns: ns });
    }

    /// Adds others of the same process.
    pub(crate) fn merge(&mut self, other: Latency) {
        for (kind, times) in other.kinds {
            self.kinds.entry(kind).or_default().merge(times);
        }
        for (step, times) in &other.steps {
            self.steps.entry(*step).or_default().merge(times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(ns: u64, ticks: u64) -> Slow {
        Slow { ns, ticks, thread: 1, call: Call::Malloc, size_bytes: 8, stack: StackId(3) }
    }

    #[test]
    fn classes_meet_without_gap_and_are_a_32nd_wide() {
        let mut last = None;
        for class in 0..1900 {
            let longest = longest_of(class);
            assert_eq!(class_of(longest), class);
            assert!(last.is_none_or(|last: u64| class_of(last + 1) == class), "{class}");
            let first = last.map_or(0, |last| last + 1);
            assert!((longest - first) * 32 <= longest, "{class}: {first} to {longest}");
            last = Some(longest);
        }
        assert!(class_of(u64::MAX) < 2000);
        assert_eq!(longest_of(class_of(u64::MAX)), u64::MAX);
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_times_to_a_32nd() {
        let mut times = Times::default();
        let all: Vec<u64> = (1..=10_000).map(|n| n * n / 7 + 20).collect();
        for (ticks, ns) in all.iter().enumerate() {
            times.add(slow(*ns, ticks as u64));
        }
        let answer = times.answer(CallKind::Malloc).unwrap();
        let told = [answer.p50_ns, answer.p90_ns, answer.p99_ns, answer.p99_9_ns, answer.p99_99_ns];
        for (told, rank) in told.into_iter().zip([5_000, 9_000, 9_900, 9_990, 9_999]) {
            let exact = all[rank - 1];
            assert!((exact..=exact + exact / 32 + 1).contains(&told), "{rank}: {told}, not {exact}");
        }
        assert_eq!((answer.min_ns, answer.max_ns, answer.count), (all[0], all[9_999], 10_000));
        assert_eq!(answer.mean_ns, all.iter().sum::<u64>() as f64 / 10_000.0);
    }

    #[test]
    fn merging_in_any_order_gives_the_same() {
        let parts: Vec<Times> = (0..6)
            .map(|part| {
                let mut times = Times::default();
                (0..30).for_each(|n| times.add(slow((part * 37 + n * 11) % 50, part * 100 + n)));
                times
            })
            .collect();
        let merged = |order: &mut dyn Iterator<Item = &Times>| {
            let mut all = Times::default();
            order.for_each(|part| all.merge(part.clone()));
            (all.worst.clone(), all.answer(CallKind::Free))
        };
        let forward = merged(&mut parts.iter());
        assert_eq!(forward, merged(&mut parts.iter().rev()));
        let worst: Vec<u64> = forward.0.iter().map(|slow| slow.ns).collect();
        assert!(worst.len() == WORST && worst.is_sorted_by(|a, b| a >= b), "{worst:?}");
    }
}
