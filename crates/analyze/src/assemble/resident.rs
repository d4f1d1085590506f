//! When resident memory was most above the heap. Samples of memory are older than what is compared with them, so the heap
//! counts with the most that it was since the sample before, and what one sample alone says does not count.

use crate::answer::{Resident, Timeline};
use crate::input::ProcessFacts;

/// The moment; none where resident memory never was above the heap, or was not sampled twice.
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
    let lasting = moments
        .windows(2)
        .map(|pair| if pair[0].excess_bytes() <= pair[1].excess_bytes() { pair[0] } else { pair[1] });
    lasting.max_by_key(Resident::excess_bytes).filter(|resident| resident.excess_bytes() > 0)
}

/// The most that the heap was in the steps from one moment to another.
fn heap_between(timeline: &Timeline, from_ns: u64, to_ns: u64) -> Option<u64> {
    let step = |ns: u64| ns.checked_sub(timeline.begin_ns).map(|ns| (ns / timeline.step_ns.max(1)) as usize);
    let last = timeline.steps.len().checked_sub(1)?;
    let (from, to) = (step(from_ns)?.min(last), step(to_ns)?.min(last));
    timeline.steps[from..=to].iter().map(|step| step.heap_max_bytes).max()
}

/// What the last sample of a process says that lives at a moment.
fn anonymous(process: &ProcessFacts, mono_ns: u64) -> u64 {
    let has_ended = process.ended.is_end() && process.end_mono_ns != 0 && process.end_mono_ns < mono_ns;
    let known = process.rss.partition_point(|rss| rss.mono_ns <= mono_ns);
    let last = known.checked_sub(1).map(|at| process.rss[at]).filter(|_| !has_ended);
    last.map_or(0, |rss| rss.anonymous_bytes)
}
