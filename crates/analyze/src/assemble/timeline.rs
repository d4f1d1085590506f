//! The heap over time. The levels are those of the search for the peak, a few of its steps to one of the
//! timeline; resident memory is what was sampled.

use crate::answer::{self, Timeline};
use crate::input::{HeapSample, ProcessFacts, RssSample};
use crate::passes::PassResults;
use crate::timeline::HeapLevels;

/// The timeline of all processes together.
pub(super) fn timeline(results: &PassResults, processes: &[ProcessFacts]) -> Timeline {
    let heap = HeapLevels {
        grid: &results.grid,
        finer: results.finer,
        before_bytes: results.before_bytes,
        levels: &results.steps,
        segments: &results.segments,
    };
    let mut timeline = Timeline {
        begin_ns: results.grid.begin_ns.saturating_sub(results.begin_ns),
        step_ns: results.grid.step_ns.saturating_mul(u64::from(results.finer)),
        steps: heap.steps(results.peak.ns, results.peak.bytes),
    };
    add_samples(&mut timeline, processes, results.begin_ns);
    timeline
}

/// Adds what was measured of processes while they ran to a timeline of the heap; moment 0 is at `begin_ns`.
pub fn add_samples(timeline: &mut Timeline, processes: &[ProcessFacts], begin_ns: u64) {
    let grid_begin_ns = begin_ns.saturating_add(timeline.begin_ns);
    for process in processes {
        let lived = Lived::of(process, grid_begin_ns, timeline.step_ns.max(1));
        lived.add_samples(&process.rss, &mut timeline.steps);
        let samples = process.heap.as_ref().map_or(&[][..], |(_, samples)| samples);
        lived.add_samples(samples, &mut timeline.steps);
    }
}

/// Something that was looked at from time to time while a process ran.
trait Sample: Copy {
    /// When, CLOCK_MONOTONIC ns.
    fn mono_ns(&self) -> u64;

    /// Adds it to a step.
    fn add_to(&self, step: &mut answer::Step);
}

impl Sample for RssSample {
    fn mono_ns(&self) -> u64 {
        self.mono_ns
    }

    fn add_to(&self, step: &mut answer::Step) {
        step.rss_bytes = step.rss_bytes.saturating_add(self.rss_bytes);
        step.rss_processes += 1;
        step.anonymous_bytes = step.anonymous_bytes.saturating_add(self.anonymous_bytes);
    }
}

impl Sample for HeapSample {
    fn mono_ns(&self) -> u64 {
        self.mono_ns
    }

    fn add_to(&self, step: &mut answer::Step) {
        let counts = &self.counts;
        step.pool_bytes = step.pool_bytes.saturating_add(counts.pool_bytes);
        step.pool_used_bytes = step.pool_used_bytes.saturating_add(counts.used_bytes);
        step.pool_largest_free_bytes = step.pool_largest_free_bytes.saturating_add(counts.largest_free_bytes);
    }
}

/// The steps in which a process lived.
struct Lived {
    begin_ns: u64,
    step_ns: u64,
    /// When it ended, as far as that is known.
    ended_ns: u64,
}

impl Lived {
    fn of(process: &ProcessFacts, begin_ns: u64, step_ns: u64) -> Lived {
        let has_ended = process.ended.is_end() && process.end_mono_ns != 0;
        Lived { begin_ns, step_ns, ended_ns: if has_ended { process.end_mono_ns } else { u64::MAX } }
    }

    /// Adds samples of the process to its steps: the last sample at the end of each. One that was taken after its last
    /// event, or after its end, is of its last step: a short program on a busy machine has no other.
    fn add_samples<S: Sample>(&self, samples: &[S], steps: &mut [answer::Step]) {
        let Some(first) = samples.first() else { return };
        let end_ns = self.begin_ns.saturating_add(self.step_ns.saturating_mul(steps.len() as u64));
        let last_ns = self.ended_ns.min(end_ns.saturating_sub(1));
        let moment = |sample: &S| sample.mono_ns().min(last_ns);
        let from = (moment(first).saturating_sub(self.begin_ns) / self.step_ns) as usize;
        let (mut samples, mut last) = (samples.iter().peekable(), None);
        for (number, step) in steps.iter_mut().enumerate().skip(from) {
            let begin = self.begin_ns.saturating_add(self.step_ns.saturating_mul(number as u64));
            let end = begin.saturating_add(self.step_ns);
            while let Some(sample) = samples.next_if(|sample| moment(sample) < end) {
                last = Some(*sample);
            }
            if begin > self.ended_ns {
                break;
            }
            if let Some(last) = &last {
                last.add_to(step);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resident bytes by step of a process whose samples these are; four steps of 10 ns from 100 ns on.
    fn check(samples: &[(u64, u64)], ended_ns: u64, expected: [u64; 4]) {
        let lived = Lived { begin_ns: 100, step_ns: 10, ended_ns };
        let samples: Vec<RssSample> = samples
            .iter()
            .map(|&(mono_ns, rss_bytes)| RssSample { mono_ns, rss_bytes, ..RssSample::default() })
            .collect();
        let mut steps = vec![answer::Step::default(); 4];
        lived.add_samples(&samples, &mut steps);
        assert_eq!(steps.iter().map(|step| step.rss_bytes).collect::<Vec<_>>(), expected, "{samples:?}");
    }

    #[test]
    fn a_sample_counts_until_the_next_or_the_end() {
        check(&[(105, 7), (121, 9)], u64::MAX, [7, 7, 9, 9]);
        check(&[(105, 7), (121, 9)], 115, [7, 9, 0, 0]);
    }

    #[test]
    fn what_is_sampled_at_the_end_is_of_the_last_step() {
        check(&[(140, 7)], u64::MAX, [0, 0, 0, 7]);
        check(&[(500, 7)], u64::MAX, [0, 0, 0, 7]);
        check(&[(118, 7)], 117, [0, 7, 0, 0]);
        check(&[(125, 7)], 117, [0, 7, 0, 0]);
        check(&[(102, 3), (500, 7)], u64::MAX, [3, 3, 3, 7]);
    }
}
