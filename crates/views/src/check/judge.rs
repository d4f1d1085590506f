//! Figures held against limits.
//!
//! Of a recording of every block a figure is what it is. Of samples it has a range in which the truth lies in
//! 95 of 100 recordings: the rule is broken when the whole range is above the limit, it holds when none of it
//! is, and is not decided in between. Where losses have touched a figure it has a range, too, in which the truth
//! lies for certain. What else is missing from a trace decides nothing, but for figures that it could only have
//! made larger.

use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::calls::StackCalls;
use heapscribe_analyze::estimate::Figure;

use super::calls::{self, ForbiddenCalls};
use super::leaks::{leaked, leaked_per_stack};
use super::rule::{Forbidden, Limited, Rule};
use super::subject::Subject;
use super::unit::Unit;
use super::verdict::{Culprit, Evidence, Finding, Verdict};
use super::worst::Worst;
use heapscribe_units::{counted, duration};

/// Judges a rule that has a limit, in one process or in all of them together.
pub fn limit(
    rule: &Rule,
    process: impl Into<Option<usize>>,
    subject: &Subject,
    top: usize,
) -> Option<Finding> {
    let process = process.into();
    let Rule::Max(limited, limit) = *rule else { return None };
    let (figure, worst) = figure(limited, subject, top);
    let mut gaps = subject.gaps_of(limited);
    if limited.is_of_leaks() {
        gaps.extend(subject.unended.clone());
    }
    if matches!(limited, Limited::AllocRate | Limited::MeanAllocRate)
        && let Some(why) = &subject.untimed
    {
        return Some(undecided(rule, process, limited.unit(), why));
    }
    if limited == Limited::Latency && subject.is_sampled {
        gaps.push("only sampled calls were timed".to_owned());
    }
    // What is no estimate has a range only where something is missing.
    let is_bounded = subject.is_bounded || !subject.is_sampled;
    let doubt = if is_bounded { Doubt::Losses(&subject.causes) } else { Doubt::Samples };
    let only_grows = limited.only_grows() || has_least(limited, subject);
    let (verdict, mut why) = decide(&figure, limit, &gaps, doubt, only_grows, limited.unit());
    if let (Limited::AllocRate, Some(busiest), true) = (limited, &subject.busiest, figure.value > 0.0) {
        why.push(format!("the busiest second began {} after the start", duration(busiest.from_ns)));
    }
    let nothing = match limited {
        Limited::Rss if subject.rss_bytes == 0 && subject.is_cut => {
            Some("no sample of resident memory is in what can be read of the trace")
        }
        Limited::Rss if subject.rss_bytes == 0 => Some("resident memory was never sampled"),
        Limited::Latency if subject.slowest_ns.is_none() && subject.calls > 0 => {
            Some("the trace has no latencies; record it with `record --latency`")
        }
        _ => None,
    };
    if let Some(why) = nothing {
        return Some(undecided(rule, process, limited.unit(), why));
    }
    let worst = if verdict == Verdict::Holds { Worst::default() } else { worst };
    Some(Finding {
        rule: rule.clone(),
        process,
        verdict,
        found: Some(figure),
        is_bounded,
        limit,
        unit: limited.unit(),
        why,
        culprits: worst.culprits,
        more: worst.more,
        reasons: Vec::new(),
    })
}

/// Whether the lower end of a figure holds whatever is missing. The peak was at least as high as its lower bound; where
/// recording was off for a time, what was recorded is followed to its end; and what is live at an end that nobody saw may
/// be freed later.
fn has_least(limited: Limited, subject: &Subject) -> bool {
    match limited {
        Limited::Peak => subject.is_bounded || subject.is_open_above,
        // How long a process lived is known where it was seen to its end.
        Limited::MeanAllocRate => (subject.is_bounded || subject.is_open_above) && !subject.is_cut,
        _ if limited.is_of_leaks() => {
            subject.is_open_above && subject.unended.is_none() && subject.problems.is_empty()
        }
        _ => false,
    }
}

/// Why a figure may have a range.
#[derive(Clone, Copy, Debug)]
pub enum Doubt<'a> {
    /// It is an estimate.
    Samples,
    /// Something is missing, in words, and the truth is in the range.
    Losses(&'a [String]),
}

impl Doubt<'_> {
    /// The range, in words.
    fn shown(&self, figure: &Figure, unit: Unit) -> String {
        match self {
            Doubt::Samples if figure.high.is_infinite() => {
                format!("estimated from samples, 95 %: at least {}", unit.short(figure.low))
            }
            Doubt::Samples => {
                let [low, high] = [figure.low, figure.high].map(|end| unit.short(end));
                format!("estimated from samples, 95 %: {low} to {high}")
            }
            Doubt::Losses(causes) => {
                let causes =
                    if causes.is_empty() { String::new() } else { format!(": {}", causes.join("; ")) };
                format!("it is {}{causes}", range(figure, unit))
            }
        }
    }

    fn undecided(&self) -> String {
        match self {
            Doubt::Samples => "the limit is within this range; decrease --sample to decide".to_owned(),
            Doubt::Losses(_) => "whether it exceeds the limit is not known".to_owned(),
        }
    }
}

/// Between what a figure lies, in words.
pub fn range(figure: &Figure, unit: Unit) -> String {
    match (figure.low, figure.high) {
        (low, high) if low == 0.0 && high.is_infinite() => "unknown".to_owned(),
        (low, high) if high.is_infinite() => format!("at least {}", unit.shown(low)),
        (0.0, high) => format!("at most {}", unit.shown(high)),
        (low, high) => format!("between {} and {}", unit.shown(low), unit.shown(high)),
    }
}

/// The verdict on a figure with a limit, and what is to be remarked or why it is undecided.
pub fn decide(
    figure: &Figure,
    limit: f64,
    gaps: &[String],
    doubt: Doubt<'_>,
    only_grows: bool,
    unit: Unit,
) -> (Verdict, Vec<String>) {
    let is_above = figure.low > limit;
    let is_certain = gaps.is_empty() || (is_above && only_grows);
    if !is_certain {
        let mut why = gaps.to_vec();
        if only_grows && figure.low > 0.0 && matches!(doubt, Doubt::Samples) && figure.high > figure.low {
            why.push(doubt.shown(&Figure { high: f64::INFINITY, ..*figure }, unit));
        }
        return (Verdict::Undecided, why);
    }
    // A figure above its limit is above it with what was seen already.
    let mut why = gaps.to_vec();
    if figure.high > figure.low {
        why.push(doubt.shown(figure, unit));
    }
    match (is_above, figure.high > limit) {
        (true, _) => (Verdict::Broken, why),
        (false, false) => (Verdict::Holds, why),
        (false, true) => {
            why.push(doubt.undecided());
            (Verdict::Undecided, why)
        }
    }
}

fn exact(value: f64) -> Figure {
    Figure { value, variance: 0.0, low: value, high: value }
}

/// The figure, and the stacks that made it.
fn figure(limited: Limited, subject: &Subject, top: usize) -> (Figure, Worst) {
    match limited {
        Limited::Peak => (subject.peak, subject.at_peak.clone()),
        Limited::Rss => (exact(subject.rss_bytes as f64), subject.at_peak.clone()),
        Limited::Leaked | Limited::LeakedBlocks => leaked(limited, subject, top),
        Limited::LeakedPerStack => leaked_per_stack(subject),
        Limited::Allocations => (subject.allocated.blocks, subject.by_blocks.clone()),
        Limited::Allocated => (subject.allocated.bytes, subject.by_bytes.clone()),
        Limited::Temporary => (subject.temporary.blocks, subject.by_temporary.clone()),
        Limited::TemporaryPart => {
            let all = subject.allocated.blocks.value.max(1.0);
            let part = scaled(&subject.temporary.blocks, 1.0 / all);
            // Of what is missing any part may be temporary, and nobody knows how much is missing.
            let is_open = part.high.is_infinite();
            (if is_open { Figure { low: 0.0, ..part } } else { part }, subject.by_temporary.clone())
        }
        Limited::Failed => (exact(subject.failed as f64), subject.by_failed.clone()),
        Limited::AllocRate => {
            let busiest = subject.busiest.map(|busiest| busiest.allocations);
            (busiest.unwrap_or_default(), subject.in_busiest.clone())
        }
        Limited::Latency => (exact(subject.slowest_ns.unwrap_or(0) as f64), subject.by_slowest.clone()),
        Limited::MeanAllocRate => {
            let seconds = (subject.lived_ns as f64 / 1e9).max(1e-9);
            (scaled(&subject.allocated.blocks, 1.0 / seconds), subject.by_blocks.clone())
        }
    }
}

fn scaled(figure: &Figure, by: f64) -> Figure {
    Figure {
        value: figure.value * by,
        variance: figure.variance * by * by,
        low: figure.low * by,
        high: figure.high * by,
    }
}

/// A rule of which there is nothing to look at.
pub fn undecided(rule: &Rule, process: impl Into<Option<usize>>, unit: Unit, why: &str) -> Finding {
    Finding {
        rule: rule.clone(),
        process: process.into(),
        verdict: Verdict::Undecided,
        found: None,
        is_bounded: false,
        limit: if let Rule::Max(_, limit) = rule { *limit } else { 0.0 },
        unit,
        why: vec![why.to_owned()],
        culprits: Vec::new(),
        more: 0,
        reasons: Vec::new(),
    }
}

/// Judges a rule that forbids calls, in all processes. A process that never came to the place is not spoken
/// of, but that none did is no proof of anything: the name may be misspelled.
pub fn no_calls(rule: &Rule, forbade: &[ForbiddenCalls], subjects: &[Subject], top: usize) -> Vec<Finding> {
    let Rule::NoCalls(forbidden, threads) = rule else { return Vec::new() };
    let is_by = matches!(forbidden, Forbidden::By(_));
    let processes = forbade.iter().zip(subjects).enumerate();
    let entered = processes.filter(|(_, (forbade, _))| forbade.entered > 0 || is_by);
    let findings: Vec<Finding> = entered
        .map(|(process, (forbade, subject))| no_calls_of(rule, process, forbade, subject, top))
        .collect();
    if findings.is_empty() {
        let why = match forbidden {
            Forbidden::In(name) if threads.is_empty() => format!("no thread began a section `{name}`"),
            Forbidden::In(name) => {
                format!("no thread that matches `{}` began a section `{name}`", threads.join("` or `"))
            }
            Forbidden::After(name) => format!("no process set a mark `{name}`"),
            Forbidden::By(_) => "no process was recorded".to_owned(),
        };
        return vec![undecided(rule, None, Unit::Calls, &why)];
    }
    findings
}

fn no_calls_of(
    rule: &Rule,
    process: usize,
    forbade: &ForbiddenCalls,
    subject: &Subject,
    top: usize,
) -> Finding {
    let stacks: Vec<_> =
        forbade.stacks.iter().filter(|(_, by)| by.is_none()).map(|(calls, _)| calls).collect();
    let count = stacks.iter().map(|calls| calls.kinds.all()).fold(0, u64::saturating_add);
    let mut gaps = subject.gaps();
    gaps.extend(subject.unnamed.clone());
    if subject.is_sampled {
        gaps.push(
            "only samples were recorded, so calls may be missing and the figures are estimates".to_owned(),
        );
    }
    let (verdict, mut why) = decide(&exact(count as f64), 0.0, &gaps, Doubt::Samples, true, Unit::Calls);
    why.extend(come_to(rule, forbade.entered));
    let culprit = |calls: &&StackCalls| Culprit {
        stack: calls.node,
        what: Evidence::Calls(**calls),
        is_estimated: false,
    };
    Finding {
        rule: rule.clone(),
        process: Some(process),
        verdict,
        found: Some(exact(count as f64)),
        is_bounded: false,
        limit: 0.0,
        unit: Unit::Calls,
        why,
        culprits: stacks.iter().take(top).map(culprit).collect(),
        more: stacks.len().saturating_sub(top),
        reasons: Vec::new(),
    }
}

fn come_to(rule: &Rule, entered: u64) -> Option<String> {
    match rule {
        Rule::NoCalls(Forbidden::In(_), _) => Some(format!("the section began {}", counted(entered, "time"))),
        Rule::NoCalls(Forbidden::By(_), _) if entered == 0 => {
            Some("no matching thread made a call".to_owned())
        }
        _ => None,
    }
}

/// Calls that suppressions let pass, as amounts.
pub fn passed(forbade: &[Vec<ForbiddenCalls>]) -> impl Iterator<Item = (usize, Amount)> + '_ {
    let stacks = forbade.iter().flatten().flat_map(|forbade| &forbade.stacks);
    stacks.filter_map(|(calls, by)| by.map(|by| (by, calls::amount(calls))))
}
