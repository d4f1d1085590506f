//! When resident memory was most above the heap. Samples of memory are older than what is compared with them, so the heap
//! counts with the most that it was since the sample before; and what does not last for a part of the recording does not
//! count: a program that frees all and exits was said to hold what it had just freed.
//!
//! What a forked child has from its parent is the parent's.

use std::collections::VecDeque;

use crate::answer::{Resident, Timeline};
use crate::findings::limits::RESIDENT_EXCESS_LASTS_PERCENT;
use crate::input::ProcessFacts;

/// The moment; none where resident memory was not sampled for so long. It may have no excess: a program that forks was
/// said never to have been sampled.
pub(super) fn resident(timeline: &Timeline, processes: &[ProcessFacts], begin_ns: u64) -> Option<Resident> {
    let mut times: Vec<u64> =
        processes.iter().flat_map(|process| &process.rss).map(|rss| rss.mono_ns).collect();
    times.sort_unstable();
    times.dedup();
    let moments: Vec<Resident> = times
        .windows(2)
        .filter_map(|pair| {
            let heap_bytes =
                heap_between(timeline, pair[0].checked_sub(begin_ns)?, pair[1].checked_sub(begin_ns)?)?;
            let anonymous_bytes =
                processes.iter().map(|process| anonymous(process, pair[1])).fold(0, u64::saturating_add);
            Some(Resident { time_ns: pair[1] - begin_ns, anonymous_bytes, heap_bytes })
        })
        .collect();
    lasting(&moments)
}

/// Of each part of the recording that is long enough the moment with the least excess; of these the one with the most.
fn lasting(moments: &[Resident]) -> Option<Resident> {
    let span_ns = u128::from(moments.last()?.time_ns - moments.first()?.time_ns);
    let lasts = |from: &Resident, to: &Resident| {
        u128::from(to.time_ns - from.time_ns) * 100 >= span_ns * u128::from(RESIDENT_EXCESS_LASTS_PERCENT)
    };
    // Ascending by excess, so that the first is the least of the moments from `begin` on.
    let mut least: VecDeque<&Resident> = VecDeque::new();
    let (mut begin, mut most) = (0, None);
    for (end, moment) in moments.iter().enumerate() {
        while least.back().is_some_and(|last| last.excess_bytes() > moment.excess_bytes()) {
            least.pop_back();
        }
        least.push_back(moment);
        while begin < end && lasts(&moments[begin], moment) {
            let found: &Resident = least.front()?;
            most =
                most.filter(|most: &Resident| most.excess_bytes() >= found.excess_bytes()).or(Some(*found));
            if found.time_ns == moments[begin].time_ns {
                least.pop_front();
            }
            begin += 1;
        }
    }
    most
}

/// The most that the heap was in the steps from one moment to another.
fn heap_between(timeline: &Timeline, from_ns: u64, to_ns: u64) -> Option<u64> {
    let step = |ns: u64| ns.checked_sub(timeline.begin_ns).map(|ns| (ns / timeline.step_ns.max(1)) as usize);
    let last = timeline.steps.len().checked_sub(1)?;
    let (from, to) = (step(from_ns)?.min(last), step(to_ns)?.min(last));
    timeline.steps[from..=to].iter().map(|step| step.heap_max_bytes).max()
}

/// What the last sample of a process says that lives at a moment, without what a fork has inherited.
fn anonymous(process: &ProcessFacts, mono_ns: u64) -> u64 {
    let has_ended = process.ended.is_end() && process.end_mono_ns != 0 && process.end_mono_ns < mono_ns;
    let known = process.rss.partition_point(|rss| rss.mono_ns <= mono_ns);
    let last = known.checked_sub(1).map(|at| process.rss[at]).filter(|_| !has_ended);
    last.map_or(0, |rss| rss.anonymous_bytes.saturating_sub(process.inherited_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Step;
    use crate::input::RssSample;

    const MIB: u64 = 1 << 20;

    /// Of samples each millisecond, in MiB, of a process and of what it forked, beside a heap that has nothing.
    fn check(of_parent: &[u64], of_child: &[u64], expected: Option<(u64, u64)>) {
        let facts = |mib: &[u64], inherited_mib: u64| {
            let rss = mib.iter().enumerate().map(|(ms, mib)| RssSample {
                mono_ns: ms as u64 * 1_000_000,
                anonymous_bytes: mib * MIB,
                ..RssSample::default()
            });
            let inherited_bytes = inherited_mib * MIB;
            ProcessFacts { rss: rss.collect(), inherited_bytes, ..ProcessFacts::default() }
        };
        let timeline =
            Timeline { step_ns: 1_000_000, steps: vec![Step::default(); 100], ..Timeline::default() };
        let processes = [facts(of_parent, 0), facts(of_child, 60)];
        let found = resident(&timeline, &processes, 0);
        assert_eq!(found.map(|at| (at.time_ns / 1_000_000, at.anonymous_bytes / MIB)), expected);
    }

    #[test]
    fn what_lasts_counts() {
        let mut samples = [10; 50];
        check(&samples, &[], Some((1, 10)));
        samples[20..24].fill(100);
        check(&samples, &[], Some((1, 10)));
        samples[20..26].fill(100);
        samples[23] = 90;
        check(&samples, &[], Some((23, 90)));
        // All is freed just before the end.
        samples[47..].fill(200);
        check(&samples, &[], Some((23, 90)));
        check(&[5, 7], &[], None);
    }

    #[test]
    fn inherited_pages_are_the_parents() {
        check(&[60; 30], &[60; 30], Some((1, 60)));
        let mut of_child = [60; 30];
        of_child[10..].fill(75);
        check(&[60; 30], &of_child, Some((10, 75)));
        // Nothing of its own: it was sampled all the same.
        check(&[0; 30], &[60; 30], Some((1, 0)));
    }
}
