//! Temporary blocks where something is missing. Each that was recorded was freed before its thread allocated again, and
//! others may have been unseen: the number is a lower end, without those of which even that is not sure.

use heapscribe_analyze::answer::{Answer, Process};
use heapscribe_analyze::estimate::Estimate;

use crate::losses;

/// Blocks that seem to be temporary, and before whose frees their threads may have allocated unseen: the last one of each
/// thread when recording was switched off, and one for each lost event of which the place is not known.
pub(super) fn unsure(answer: &Answer, process: &Process) -> u64 {
    let threads = answer.threads.len().max(1) as u64;
    let lost = losses::lost_events(answer).saturating_sub(answer.totals.lost_events);
    lost.saturating_add(threads.saturating_mul(process.off.len() as u64))
}

/// What there is at least, of so much that was seen and so many blocks that may not be such.
pub(super) fn at_least(seen: Estimate, unsure: u64) -> Estimate {
    let Estimate { samples, mut blocks, mut bytes } = seen;
    // Of samples each stands for so many blocks.
    let weight = (blocks.value / samples.max(1) as f64).max(1.0);
    blocks.low = (blocks.low - unsure as f64 * weight).max(0.0);
    // How large those are is not known.
    bytes.low = if unsure > 0 { 0.0 } else { bytes.low };
    (blocks.high, bytes.high) = (f64::INFINITY, f64::INFINITY);
    Estimate { samples, blocks, bytes }
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{Amount, Bounds, Ended, FigureBounds, Process, Thread, Totals};
    use heapscribe_analyze::estimate::{Figure, Sampling};
    use heapscribe_analyze::gathered::Gathered;

    use super::super::judge::limit;
    use super::super::rule::{Limited, Rule};
    use super::super::subject::Subject;
    use super::super::verdict::Verdict;
    use super::*;

    /// A process of two threads that was off once, with so many temporary blocks and twice as many in all.
    fn answer(temporary: u64) -> Answer {
        let amount = Amount { blocks: temporary, bytes: 10 * temporary };
        let allocated = Bounds::between(Amount { blocks: 2 * temporary, bytes: 20 * temporary }, None);
        let process = Process {
            ended: Ended::Exited,
            off: vec![(1, 2)],
            temporary: amount,
            end_ns: 1_000_000_000,
            totals: Totals { allocations: 2 * temporary, ..Totals::default() },
            bounds: Some(FigureBounds { allocated, ..FigureBounds::default() }),
            ..Process::default()
        };
        Answer { processes: vec![process], threads: vec![Thread::default(); 2], ..Answer::default() }
    }

    fn check(answer: &Answer, limited: Limited, most: f64, expected: (Verdict, &str)) {
        let subject = Subject::new(answer, 5, &mut Gathered::default());
        let found = limit(&Rule::Max(limited, most), None, &subject, 5).unwrap();
        let why = found.why.join("; ");
        assert!(found.verdict == expected.0 && why.contains(expected.1), "{limited:?} {most}: {found:?}");
    }

    /// A stranger's `mv o`: 671 recorded, and the rest not, were undecided at a limit of 1.
    #[test]
    fn too_many_recorded_ones_are_too_many() {
        let answer = answer(671);
        check(&answer, Limited::Temporary, 1.0, (Verdict::Broken, "at least 669 blocks"));
        check(&answer, Limited::Temporary, 668.0, (Verdict::Broken, "recording was off for 1 ns"));
        check(&answer, Limited::Temporary, 669.0, (Verdict::Undecided, "recording was off"));
        check(&answer, Limited::TemporaryPart, 0.01, (Verdict::Undecided, "recording was off"));
        check(&answer, Limited::MeanAllocRate, 1341.0, (Verdict::Broken, "at least 1,342 blocks a second"));
        check(&answer, Limited::MeanAllocRate, 1342.0, (Verdict::Undecided, ""));
    }

    /// The same of samples, each of which stands for ten blocks.
    #[test]
    fn of_samples_the_lower_end_decides() {
        let blocks = Figure { value: 9_000.0, variance: 100.0, low: 8_000.0, high: 10_000.0 };
        let temporary = Estimate { samples: 900, blocks, bytes: blocks };
        let sampling = Sampling { samples: 900, temporary, allocated: temporary, ..Sampling::default() };
        let mut answer = Answer { sampling: Some(sampling), ..answer(9_000) };
        answer.processes[0].bounds = None;
        let range = "estimated from samples, 95 %: at least 7,980";
        check(&answer, Limited::Temporary, 7_979.0, (Verdict::Broken, range));
        check(&answer, Limited::Temporary, 7_980.0, (Verdict::Undecided, range));
        let range = "estimated from samples, 95 %: at least 8,000/s";
        check(&answer, Limited::MeanAllocRate, 7_999.0, (Verdict::Broken, range));
        check(&answer, Limited::MeanAllocRate, 8_000.0, (Verdict::Undecided, range));
    }
}
