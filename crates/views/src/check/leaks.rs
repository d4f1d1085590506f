//! What was never freed, without what suppressions accept, held against what is missing: lost events, and blocks that
//! no sample hit.

use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::estimate::Figure;

use super::rule::Limited;
use super::subject::{Leak, Subject};
use super::verdict::{Culprit, Evidence};
use super::worst::Worst;

/// Leaks that no suppression accepts, the largest first.
fn unsuppressed(subject: &Subject, of: fn(&Amount) -> u64) -> Vec<&Leak> {
    let mut leaks: Vec<&Leak> = subject.leaks.iter().filter(|leak| leak.suppressed.is_none()).collect();
    leaks.sort_by_key(|leak| (std::cmp::Reverse(of(&leak.amount)), leak.stack));
    leaks
}

pub(super) fn leaked(limited: Limited, subject: &Subject, top: usize) -> (Figure, Worst) {
    let is_of_blocks = limited == Limited::LeakedBlocks;
    let leaks =
        unsuppressed(subject, if is_of_blocks { |amount| amount.blocks } else { |amount| amount.bytes });
    let whole = if is_of_blocks { subject.leaked.blocks } else { subject.leaked.bytes };
    let of = |leak: &Leak| if is_of_blocks { leak.estimate.blocks } else { leak.estimate.bytes };
    let accepted: Vec<Figure> =
        subject.leaks.iter().filter(|leak| leak.suppressed.is_some()).map(of).collect();
    let parts: Vec<Figure> = leaks.iter().copied().map(of).collect();
    let figure = if accepted.is_empty() {
        whole
    } else if subject.is_bounded {
        without(&whole, &accepted, &parts)
    } else {
        or_unseen(Figure::sum(parts.iter().map(|part| part.value).sum(), &parts), parts.is_empty(), subject)
    };
    (figure, of_leaks(&leaks, top))
}

/// What was never freed, within its bounds, without what is accepted: what is missing may be of any other stack. (All
/// that was known was the C library's, and a leak among 2 million lost events passed.)
fn without(whole: &Figure, accepted: &[Figure], parts: &[Figure]) -> Figure {
    let least = |figures: &[Figure]| figures.iter().map(|part| part.low).sum::<f64>();
    let high = whole.high - least(accepted);
    let low = least(parts).max(least_without(whole, accepted, parts)).min(high);
    let value = parts.iter().map(|part| part.value).sum::<f64>().clamp(low, high);
    Figure { value, variance: 0.0, low, high }
}

/// What of the lower bound of all that was seen is not of what is accepted, which counts there with what was seen of it.
/// Where the bound is of more than stacks have, it may be of anything.
fn least_without(whole: &Figure, accepted: &[Figure], parts: &[Figure]) -> f64 {
    let seen = |figures: &[Figure]| figures.iter().map(|part| part.value).sum::<f64>();
    let most = if seen(accepted) + seen(parts) < whole.low {
        accepted.iter().map(|part| part.high).sum()
    } else {
        seen(accepted)
    };
    whole.low - most
}

/// The same, or what may have gone without a sample.
fn or_unseen(figure: Figure, is_unseen: bool, subject: &Subject) -> Figure {
    let most = if is_unseen { subject.unseen_bytes as f64 } else { 0.0 };
    Figure { high: figure.high.max(most), ..figure }
}

pub(super) fn leaked_per_stack(subject: &Subject) -> (Figure, Worst) {
    let leaks = unsuppressed(subject, |amount| amount.bytes);
    let mut figure = leaks.first().map_or(Figure::default(), |leak| leak.estimate.bytes);
    figure.low = leaks.iter().map(|leak| of_one_stack(leak)).fold(0.0, f64::max).min(figure.high);
    if subject.is_bounded {
        // Another stack may have leaked more than was seen.
        let most = leaks.iter().map(|leak| leak.estimate.bytes.high).fold(figure.high, f64::max);
        let is_known = subject.leaked.bytes.high <= subject.leaked.bytes.low;
        figure.high = if is_known { most } else { subject.leaked.bytes.high };
    }
    // A stack of less may have gone without a sample.
    figure = or_unseen(figure, !subject.is_bounded, subject);
    // One stack breaks the rule; those after it may, too.
    (figure, of_leaks(&leaks, leaks.len().min(1)))
}

/// What one stack has of a leak at least: stacks that are not known are as many as there are blocks, at most.
fn of_one_stack(leak: &Leak) -> f64 {
    let stacks = if leak.is_of_no_stack { leak.amount.blocks.max(1) } else { 1 };
    (leak.estimate.bytes.low / stacks as f64).ceil()
}

fn of_leaks(leaks: &[&Leak], top: usize) -> Worst {
    let culprit = |leak: &&Leak| Culprit {
        stack: leak.stack,
        what: Evidence::Blocks(leak.amount),
        is_estimated: leak.estimate.bytes.variance > 0.0,
    };
    Worst { culprits: leaks.iter().take(top).map(culprit).collect(), more: leaks.len().saturating_sub(top) }
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{Answer, Bounds, CallTree, Ended, FigureBounds, Node, Process, Stack};
    use heapscribe_analyze::estimate::{Estimate, Sampling};
    use heapscribe_analyze::gathered::Gathered;

    use super::super::judge::limit;
    use super::super::rule::Rule;
    use super::super::verdict::Verdict;
    use super::*;

    fn between(low: f64, high: f64) -> Figure {
        Figure { value: low, variance: 0.0, low, high }
    }

    fn leak(low: f64, high: f64, suppressed: Option<usize>) -> Leak {
        let estimate = Estimate { samples: 1, blocks: between(1.0, high), bytes: between(low, high) };
        Leak {
            stack: Default::default(),
            amount: Amount { blocks: 1, bytes: low as u64 },
            estimate,
            suppressed,
            is_of_no_stack: false,
        }
    }

    fn check(limited: Limited, most: f64, subject: &Subject, expected: Verdict) {
        let found = limit(&Rule::Max(limited, most), None, subject, 5).unwrap();
        assert_eq!(found.verdict, expected, "{limited:?} {most}: {found:?}");
    }

    /// A stranger's `th3`: all that was known to be left were blocks of threads, and 2 million events were lost.
    #[test]
    fn what_is_accepted_says_nothing_of_what_is_missing() {
        let leaked = Estimate {
            samples: 0,
            blocks: between(4.0, f64::INFINITY),
            bytes: between(1_152.0, f64::INFINITY),
        };
        let leaks = vec![leak(1_152.0, 1_152.0, Some(0))];
        let mut subject = Subject { leaked, leaks, is_bounded: true, ..Subject::default() };
        check(Limited::Leaked, 0.0, &subject, Verdict::Undecided);
        check(Limited::LeakedBlocks, 0.0, &subject, Verdict::Undecided);
        subject.leaked.bytes.high = 1_152.0;
        check(Limited::Leaked, 0.0, &subject, Verdict::Holds);
        subject.leaked.bytes = between(5_001_152.0, f64::INFINITY);
        check(Limited::Leaked, 5e6 - 1.0, &subject, Verdict::Broken);
        check(Limited::Leaked, 5e6, &subject, Verdict::Undecided);
    }

    /// The same with the leak recorded: what is left at the end was not freed, whatever else is missing.
    #[test]
    fn a_lower_bound_above_the_limit_decides() {
        let stack = |bytes| Stack { leaked: Amount { blocks: 1, bytes }, ..Stack::default() };
        let subject = |of_table: [u64; 2], least: u64| {
            let stacks = of_table.map(stack).to_vec();
            let least = |blocks| Bounds::between(Amount { blocks, bytes: least }, None);
            let bounds = FigureBounds { leaked: least(2), ..FigureBounds::default() };
            let process =
                Process { ended: Ended::Exited, bounds: Some(bounds.clone()), ..Process::default() };
            let tree = CallTree { nodes: vec![Node::default()], ..CallTree::default() };
            let processes = vec![process];
            let answer = Answer { tree, stacks, processes, bounds: Some(bounds), ..Answer::default() };
            let mut subject = Subject::new(&answer, 5, &mut Gathered::default());
            subject.leaks[0].suppressed = Some(0);
            subject
        };
        let known = subject([1_152, 5_000_000], 5_001_152);
        for limited in [Limited::Leaked, Limited::LeakedPerStack] {
            check(limited, 5e6 - 1.0, &known, Verdict::Broken);
            check(limited, 5e6, &known, Verdict::Undecided);
        }
        check(Limited::LeakedBlocks, 0.0, &known, Verdict::Broken);
        // Up to 2,000,000 bytes of them may have been freed by events that are missing, of whichever stack.
        let stale = subject([1_152, 5_000_000], 3_001_152);
        for limited in [Limited::Leaked, Limited::LeakedPerStack] {
            check(limited, 3e6 - 1.0, &stale, Verdict::Broken);
            check(limited, 3e6, &stale, Verdict::Undecided);
        }
        // The bound is of something else than these stacks.
        check(Limited::Leaked, 0.0, &subject([1_152, 10], 2_000), Verdict::Undecided);
    }

    /// A recording of samples that was off for a time: its ranges begin where they do, and have no end.
    #[test]
    fn a_time_in_which_nothing_was_recorded_opens_the_upper_end_alone() {
        let figure = |blocks: f64| Figure {
            value: 9.0 * blocks,
            variance: 1.0,
            low: 8.0 * blocks,
            high: 10.0 * blocks,
        };
        let of_all = Estimate { samples: 9, blocks: figure(1.0), bytes: figure(100.0) };
        let sampling = Sampling { samples: 9, peak: of_all, leaked: of_all, ..Sampling::default() };
        let subject = |ended, off: &[(u64, u64)]| {
            let process = Process { ended, off: off.to_vec(), ..Process::default() };
            let sampling = Some(sampling.clone());
            let answer = Answer { processes: vec![process], sampling, ..Answer::default() };
            Subject::new(&answer, 5, &mut Gathered::default())
        };
        let off = subject(Ended::Exited, &[(1, 2)]);
        for limited in [Limited::Leaked, Limited::Peak] {
            check(limited, 799.0, &off, Verdict::Broken);
            check(limited, 800.0, &off, Verdict::Undecided);
            check(limited, 1e9, &off, Verdict::Undecided);
            check(limited, 1e9, &subject(Ended::Exited, &[]), Verdict::Holds);
        }
        // What runs on may free it.
        check(Limited::Leaked, 0.0, &subject(Ended::Abandoned, &[(1, 2)]), Verdict::Undecided);
        check(Limited::Peak, 0.0, &subject(Ended::Abandoned, &[(1, 2)]), Verdict::Broken);
    }

    #[test]
    fn what_no_sample_hit_may_be_a_leak() {
        let leaks = vec![leak(500.0, 900.0, Some(0))];
        let subject = Subject { leaks, is_sampled: true, unseen_bytes: 6_000, ..Subject::default() };
        check(Limited::Leaked, 0.0, &subject, Verdict::Undecided);
        check(Limited::LeakedPerStack, 0.0, &subject, Verdict::Undecided);
        check(Limited::LeakedPerStack, 6_000.0, &subject, Verdict::Holds);
        let full = Subject { unseen_bytes: 0, is_sampled: false, ..subject };
        check(Limited::Leaked, 0.0, &full, Verdict::Holds);
        check(Limited::LeakedPerStack, 0.0, &full, Verdict::Holds);
    }

    /// A trace that was cut: what it has of the peak was there.
    #[test]
    fn a_peak_that_was_seen_breaks_its_limit() {
        let problems = vec!["the file is cut".to_owned()];
        let subject =
            Subject { peak: between(50.0, f64::INFINITY), is_bounded: true, problems, ..Subject::default() };
        check(Limited::Peak, 49.0, &subject, Verdict::Broken);
        check(Limited::Peak, 50.0, &subject, Verdict::Undecided);
    }
}
