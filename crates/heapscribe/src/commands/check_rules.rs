//! The rules that the command line of `check` and a recording ask for.

use heapscribe_analyze::measure::Measure;
use heapscribe_formats::RealTimeRules;

use crate::cli::{CheckArgs, CountOrPart};
use heapscribe_views::check::rule::{Forbidden, Limited, Rule, no_calls, recorded, without_duplicates};
use heapscribe_views::check::unwanted::Unwanted;

/// Measures that a baseline limits.
const COMPARED: [Measure; 5] =
    [Measure::Peak, Measure::Leaked, Measure::Allocated, Measure::Count, Measure::Temporary];

/// What the command line asks for, in the order of `--help`, and the recording; each rule once.
pub(super) fn rules(args: &CheckArgs, of_recording: &RealTimeRules) -> Vec<Rule> {
    let mut rules = no_calls(&args.no_alloc_in, Forbidden::In, &args.thread);
    rules.extend(no_calls(&args.no_alloc_after, Forbidden::After, &args.thread));
    rules.extend(no_calls(&args.no_alloc_by, Forbidden::By, &[]));
    rules.extend(recorded(of_recording));
    rules.extend(limits(args));
    rules.extend(unwanted(args).map(Rule::NoFindings));
    if args.baseline.is_some() {
        rules.extend(COMPARED.map(|measure| Rule::Grew(measure, args.tolerance)));
    }
    without_duplicates(rules)
}

/// Which findings are forbidden.
fn unwanted(args: &CheckArgs) -> impl Iterator<Item = Unwanted> {
    let by_severity = args.no_findings.map(Unwanted::Severity);
    by_severity.into_iter().chain(args.no_finding.iter().copied().map(Unwanted::Kind))
}

/// Rules that a figure must not be above a limit.
fn limits(args: &CheckArgs) -> impl Iterator<Item = Rule> {
    let limit = |limited, limit: Option<u64>| limit.map(|limit| Rule::Max(limited, limit as f64));
    let temporary = args.max_temporary.map(|max| match max {
        CountOrPart::Count(count) => Rule::Max(Limited::Temporary, count as f64),
        CountOrPart::Part(part) => Rule::Max(Limited::TemporaryPart, part),
    });
    let limits = [
        limit(Limited::Peak, args.max_peak),
        limit(Limited::Rss, args.max_rss),
        limit(Limited::Leaked, args.max_leaked),
        limit(Limited::LeakedBlocks, args.max_leaked_blocks),
        limit(Limited::LeakedPerStack, args.max_leaked_per_stack),
        limit(Limited::Allocations, args.max_allocations),
        limit(Limited::Allocated, args.max_allocated),
        temporary,
        limit(Limited::Failed, args.max_failed),
        limit(Limited::AllocRate, args.max_alloc_rate),
        limit(Limited::MeanAllocRate, args.max_mean_alloc_rate),
        limit(Limited::Latency, args.max_latency),
    ];
    limits.into_iter().flatten()
}
