//! The sentence of a finding, without the full stop: what was seen, whose it is, and the figures.

use std::cmp::Ordering;

use heapscribe_analyze::answer::{Amount, Answer, Bounds, Exit, NodeId};
use heapscribe_analyze::estimate::Sampling;
use heapscribe_analyze::findings::{Evidence, Finding, There};
use heapscribe_symbols::lossy;
use heapscribe_units::{about, count, counted, duration, percent, plus_minus, short_bytes};

use super::super::{bounds, estimate, tables};

/// What a sentence is made of besides the figures.
pub(super) struct Facts<'a> {
    pub(super) answer: &'a Answer,
    /// The own caller that it is about.
    pub(super) who: &'a str,
    /// Why blocks that a leak leaves out may stay until the end.
    pub(super) accepted: &'a str,
}

impl Facts<'_> {
    fn is_estimated(&self) -> bool {
        self.answer.sampling.as_ref().is_some_and(Sampling::has_estimates)
    }

    /// Bytes, as what they are or about.
    fn bytes(&self, bytes: u64) -> String {
        self.bytes_about(bytes, false)
    }

    /// The same of a figure that may be an estimate by itself.
    fn bytes_about(&self, bytes: u64, is_estimate: bool) -> String {
        let exact = short_bytes(bytes);
        if is_estimate || self.is_estimated() { format!("{} {exact}", about()) } else { exact }
    }

    fn blocks(&self, blocks: u64, singular: &str) -> String {
        estimate::about_counted(blocks, singular, self.is_estimated())
    }

    fn amount(&self, amount: Amount) -> String {
        format!("{} in {}", self.bytes(amount.bytes), self.blocks(amount.blocks, "block"))
    }

    /// ` in gcc (4711)`, where there are several processes.
    fn of_process(&self, number: usize) -> String {
        let process = self.answer.processes.get(number).filter(|_| self.answer.processes.len() > 1);
        process
            .map_or_else(String::new, |process| format!(" in {} ({})", tables::program(process), process.pid))
    }

    /// `the run`, or where there are several processes `the life of gcc (4711)`.
    fn life_of(&self, number: usize) -> String {
        match self.of_process(number).strip_prefix(" in ") {
            Some(process) => format!("the life of {process}"),
            None => "the run".to_owned(),
        }
    }
}

/// The sentence; `name` names the own caller of a stack.
pub(super) fn summary(finding: &Finding, facts: &Facts<'_>, name: impl FnOnce(NodeId) -> String) -> String {
    let who = facts.who;
    match &finding.evidence {
        Evidence::Growth { .. } => growth(&finding.evidence, facts),
        Evidence::Leak { .. } => leak(finding, facts),
        Evidence::Burst { there, .. } => {
            let there = there.map(|there| (name(there.node), there));
            burst(finding, facts, there.filter(|(other, _)| other != who))
        }
        Evidence::Temporary { .. } => temporary(&finding.evidence, facts),
        Evidence::ReallocGrowth { steps, copied_bytes_max, .. } => format!(
            "{who} made blocks larger by less than a tenth {}, which may have copied up to {}",
            times(*steps),
            short_bytes(*copied_bytes_max)
        ),
        Evidence::LateFree { process, freed, .. } => format!(
            "{who} held {} in {} for more than half of {} and freed {} only at its end",
            facts.bytes(freed.bytes),
            facts.blocks(freed.blocks, "large block"),
            facts.life_of(*process),
            if freed.blocks == 1 { "it" } else { "them" }
        ),
        Evidence::ForeignFree { freed, by_others } => format!(
            "Other threads free {} of the {} that {who} allocates and that are freed",
            percent(*by_others, *freed),
            facts.blocks(*freed, "block")
        ),
        Evidence::ResidentExcess { anonymous_bytes, heap_bytes, time_ns, .. } => format!(
            "{} of resident memory belonged to no file while at most {} of blocks were live, {} after the start",
            short_bytes(*anonymous_bytes),
            facts.bytes(*heap_bytes),
            duration(*time_ns)
        ),
        Evidence::Arenas { .. } => arenas(&finding.evidence, facts),
        Evidence::Rounding { .. } => rounding(&finding.evidence, facts),
        Evidence::Sampling { samples, low_bytes, high_bytes, .. } => format!(
            "Samples are too few to judge: the peak rests on {} and lies between {} and {} (95 %)",
            counted(*samples, "sample"),
            short_bytes(*low_bytes),
            short_bytes(*high_bytes)
        ),
        Evidence::Section { section, at_peak, left } => {
            let name = facts.answer.sections.get(*section).map_or_else(String::new, |of| lossy(&of.name));
            format!(
                "Blocks allocated only in section {name} are {} at the peak, and {} at the end",
                facts.amount(*at_peak),
                facts.amount(*left)
            )
        }
    }
}

fn times(n: u64) -> String {
    if n == 1 { "once".to_owned() } else { format!("{} times", count(n)) }
}

fn growth(evidence: &Evidence, facts: &Facts<'_>) -> String {
    let Evidence::Growth { process, from_bytes, to_bytes, over_ns, bytes_per_second, error, .. } = evidence
    else {
        return String::new();
    };
    let (rate, error) = (facts.bytes(bytes_per_second.max(0.0) as u64), short_bytes(error.max(0.0) as u64));
    format!(
        "What {} holds{} keeps growing and is never freed: from {} to {} over the last {}, {rate} {} {error} a second",
        facts.who,
        facts.of_process(*process),
        facts.bytes(*from_bytes),
        facts.bytes(*to_bytes),
        duration(*over_ns),
        plus_minus()
    )
}

fn arenas(evidence: &Evidence, facts: &Facts<'_>) -> String {
    let Evidence::Arenas { process, threads, anonymous_bytes, time_ns, heap_bytes_max, .. } = evidence else {
        return String::new();
    };
    format!(
        "{} of resident memory belonged to no file {} after the start, and one heap for all threads would never have \
         taken more than {}: the arenas of {}{} keep what each of them freed",
        short_bytes(*anonymous_bytes),
        duration(*time_ns),
        facts.bytes(*heap_bytes_max),
        counted(*threads, "thread"),
        facts.of_process(*process)
    )
}

fn rounding(evidence: &Evidence, facts: &Facts<'_>) -> String {
    let Evidence::Rounding { at_peak, heap_bytes, wasted_bytes, over_aligned, is_exact } = evidence else {
        return String::new();
    };
    let (who, asked) = (facts.who, facts.amount(*at_peak));
    let bytes = |n: u64| facts.bytes_about(n, !*is_exact && !*over_aligned);
    let [taken, wasted] = [*heap_bytes, *wasted_bytes].map(bytes);
    if *over_aligned {
        let why = "because their alignment far exceeds their size";
        return format!("{asked} of {who} leave up to {wasted} unused between them, {why}");
    }
    format!(
        "{who} asked for {asked}, for which a heap like glibc's takes {taken}: {wasted} are rounding and headers"
    )
}

/// Whoever rose by more than the heap did so while others fell.
fn burst(finding: &Finding, facts: &Facts<'_>, there: Option<(String, There)>) -> String {
    let Evidence::Burst { rose_bytes, within_ns, peak_bytes, .. } = finding.evidence else {
        return String::new();
    };
    let by = finding.culprits.first().map_or(0, |culprit| culprit.amount.bytes);
    let (who, bytes) = (facts.who, facts.bytes(by));
    let share = match by.cmp(&rose_bytes) {
        Ordering::Less => format!("what {who} holds rose by {bytes}"),
        Ordering::Equal => format!("all of it asked for by {who}"),
        Ordering::Greater => format!("what {who} holds rose by {bytes}, while others held less"),
    };
    let there = there.map_or_else(String::new, |(other, held)| {
        let [before, at_peak] = [held.before_bytes, held.at_peak_bytes].map(|bytes| facts.bytes(bytes));
        match held.at_peak_bytes >= held.before_bytes {
            true => format!("; {other} held {before} before and still does"),
            false => format!("; {other} held {before} before, and then {at_peak}"),
        }
    });
    let (rose, peak, within) = (facts.bytes(rose_bytes), facts.bytes(peak_bytes), duration(within_ns));
    format!("The heap rose by {rose} to its peak of {peak} within {within} and fell again: {share}{there}")
}

/// Between what lies what was never freed, where that is open. Of a program that was killed it is no leak alone.
pub(super) fn leak_bounds(answer: &Answer) -> Option<&Bounds> {
    let is_killed = matches!(answer.exit, Some(Exit::Signal(_)));
    let leaked = answer.bounds.as_ref().map(|bounds| &bounds.leaked);
    leaked.filter(|leaked| !leaked.is_exact() && !is_killed)
}

/// Beside a loss the bounds take the place of the figure.
fn leak(finding: &Finding, facts: &Facts<'_>) -> String {
    let Evidence::Leak { left, on_purpose, killed_by, .. } = finding.evidence else { return String::new() };
    let (answer, who) = (facts.answer, facts.who);
    let by = finding.culprits.first().map_or(0, |culprit| culprit.amount.bytes);
    let share = if by == left.bytes { "all".to_owned() } else { percent(by, left.bytes) };
    let seen = match (killed_by, leak_bounds(answer)) {
        (Some(signal), _) => format!("Live when signal {signal} killed the program: {}", facts.amount(left)),
        (None, Some(bounds)) => {
            let amount = bounds::Shown { seen: answer.leaked, estimate: None, bounds: Some(bounds) }.amount();
            let recorded = facts.amount(left);
            return format!(
                "Never freed: {amount}, including what runtime libraries keep; {who} asked for {share} of the \
                 {recorded} of which no free was recorded"
            );
        }
        (None, None) if on_purpose.blocks > 0 => {
            let (amount, besides) = (facts.amount(left), facts.amount(on_purpose));
            return format!(
                "Never freed: {amount}, besides {besides} {}; {who} asked for {share}{}",
                facts.accepted,
                unknown_end(answer, killed_by)
            );
        }
        (None, None) => format!("Never freed: {}", facts.amount(left)),
    };
    format!("{seen}, {share} of it asked for by {who}{}", unknown_end(answer, killed_by))
}

/// Why what was live at the end may be no leak.
fn unknown_end(answer: &Answer, killed_by: Option<i32>) -> &'static str {
    match (killed_by, answer.exit) {
        (Some(_), _) => "; whether any of it leaks is not known",
        (None, None) => "; how the program ended is not known, and what was killed did not have to free it",
        (None, Some(_)) => "",
    }
}

fn temporary(evidence: &Evidence, facts: &Facts<'_>) -> String {
    let Evidence::Temporary { temporary, allocations, timed_calls, took_ns } = evidence else {
        return String::new();
    };
    let cost = match took_ns.checked_div(*timed_calls) {
        Some(each_ns) => {
            format!("; its calls took {} in all, {} each", duration(*took_ns), duration(each_ns))
        }
        None => String::new(),
    };
    format!(
        "{} of {} are freed before their thread allocates again: {}{cost}",
        facts.blocks(temporary.blocks, "block"),
        facts.who,
        match temporary.blocks {
            all if all == *allocations => "all that it allocates".to_owned(),
            part => format!("{} of what it allocates", percent(part, *allocations)),
        }
    )
}
