//! The times of calls of one kind: a histogram, and the worst calls. Least, most and mean are exact.

use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::Call;

use super::classes::{class_of, longest_of};
use crate::answer::{CallKind, CallLatency};

/// Worst calls of each kind that are kept.
const WORST: usize = 10;

/// A call that took long.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SlowCall {
    pub(crate) ns: u64,
    pub(crate) ticks: u64,
    pub(crate) thread: u32,
    pub(crate) call: Call,
    pub(crate) size_bytes: u64,
    /// Who called; of a free, who had asked for the block.
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
    pub(crate) worst: Vec<SlowCall>,
}

impl Times {
    /// Adds a call.
    pub(super) fn add(&mut self, slow: SlowCall) {
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
    fn keep(&mut self, slow: SlowCall) {
        let rank = |s: &SlowCall| (std::cmp::Reverse(s.ns), s.ticks, s.thread);
        let at = self.worst.partition_point(|other| rank(other) < rank(&slow));
        self.worst.insert(at, slow);
        self.worst.truncate(WORST);
    }

    /// Adds others of the same process.
    pub(super) fn merge(&mut self, other: Times) {
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

    /// As the answer has them; `None` when there are none.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(ns: u64, ticks: u64) -> SlowCall {
        SlowCall { ns, ticks, thread: 1, call: Call::Malloc, size_bytes: 8, stack: StackId(3) }
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_times_to_a_32nd() {
        let mut times = Times::default();
        let all: Vec<u64> = (1..=10_000).map(|n| n * n / 7 + 20).collect();
        for (ticks, ns) in all.iter().enumerate() {
            times.add(slow(*ns, ticks as u64));
        }
        let answer = times.answer(CallKind::Malloc).unwrap();
        let percentiles = [answer.p50_ns, answer.p90_ns, answer.p99_ns, answer.p99_9_ns, answer.p99_99_ns];
        for (percentile, rank) in percentiles.into_iter().zip([5_000, 9_000, 9_900, 9_990, 9_999]) {
            let exact = all[rank - 1];
            assert!(
                (exact..=exact + exact / 32 + 1).contains(&percentile),
                "{rank}: {percentile}, not {exact}"
            );
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
