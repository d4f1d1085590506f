//! The heap over time. The levels are those of the search for the peak, a few of its steps to one of the
//! timeline; resident memory is what was sampled.

use crate::answer::{self, Timeline};
use crate::input::{HeapSample, ProcessFacts, RssSample};
use crate::passes::Found;

/// The timeline of all processes together.
pub(crate) fn timeline(found: &Found, processes: &[ProcessFacts]) -> Timeline {
    let count = found.grid.steps.div_ceil(found.finer) as usize;
    let mut steps = vec![answer::Step::default(); count];
    heap(found, &mut steps);
    let timeline_step = found.grid.step_ns.saturating_mul(u64::from(found.finer));
    for process in processes {
        let times = (found.grid.begin_ns, timeline_step);
        sampled(process, (&process.rss, |sample| sample.mono_ns), times, &mut steps, rss);
        let samples = process.heap.as_ref().map_or(&[][..], |(_, samples)| samples);
        sampled(process, (samples, |sample| sample.mono_ns), times, &mut steps, pool);
    }
    Timeline { step_ns: timeline_step, steps }
}

fn heap(found: &Found, steps: &mut [answer::Step]) {
    let clamp = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    let (mut level, mut fine) = (found.before_bytes, found.steps.iter().peekable());
    for (number, step) in steps.iter_mut().enumerate() {
        let mut most = level;
        while let Some(part) = fine.next_if(|part| (part.number / found.finer) as usize == number) {
            most = most.max(part.certain().0).max(part.after_bytes);
            level = part.after_bytes;
            for segment in &found.segments[part.segments.clone()] {
                step.allocations += segment.allocations;
                step.allocated_bytes = step.allocated_bytes.wrapping_add(segment.allocated_bytes);
            }
        }
        step.heap_max_bytes = clamp(most);
        step.heap_end_bytes = clamp(level);
    }
    let of_peak = found.grid.step_of(found.peak.ns) / found.finer;
    if let Some(step) = steps.get_mut(of_peak as usize) {
        step.heap_max_bytes = step.heap_max_bytes.max(clamp(found.peak.bytes));
    }
}

/// Adds what was sampled of a process to the steps in which it lived: its last sample at the end of each.
fn sampled<T: Copy>(
    process: &ProcessFacts,
    (samples, mono_ns): (&[T], fn(&T) -> u64),
    (begin_ns, step_ns): (u64, u64),
    steps: &mut [answer::Step],
    add: fn(&mut answer::Step, &T),
) {
    let Some(first) = samples.first() else { return };
    let from = (mono_ns(first).saturating_sub(begin_ns) / step_ns) as usize;
    let ended =
        if process.ended.is_end() && process.end_mono_ns != 0 { process.end_mono_ns } else { u64::MAX };
    let (mut samples, mut last) = (samples.iter().peekable(), None);
    for (number, step) in steps.iter_mut().enumerate().skip(from) {
        let begin = begin_ns.saturating_add(step_ns.saturating_mul(number as u64));
        let end = begin.saturating_add(step_ns);
        while let Some(sample) = samples.next_if(|sample| mono_ns(sample) < end) {
            last = Some(*sample);
        }
        if begin > ended {
            break;
        }
        if let Some(last) = &last {
            add(step, last);
        }
    }
}

fn rss(step: &mut answer::Step, sample: &RssSample) {
    step.rss_bytes = step.rss_bytes.saturating_add(sample.rss_bytes);
    step.anonymous_bytes = step.anonymous_bytes.saturating_add(sample.anonymous_bytes);
}

fn pool(step: &mut answer::Step, sample: &HeapSample) {
    let counts = &sample.counts;
    step.pool_bytes = step.pool_bytes.saturating_add(counts.pool_bytes);
    step.pool_used_bytes = step.pool_used_bytes.saturating_add(counts.used_bytes);
    step.pool_largest_free_bytes = step.pool_largest_free_bytes.saturating_add(counts.largest_free_bytes);
}
