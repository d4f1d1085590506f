//! The figures of one process that rules are about, taken from the answer of that process alone. Of its stacks
//! only those are retained that may be named, so that many processes need little memory.

use std::cmp::Reverse;

use heapscribe_analyze::answer::{Amount, Answer, NodeId, Process, Stack};
use heapscribe_analyze::busiest::Busiest;
use heapscribe_analyze::estimate::{Estimate, Figure, Sampling};
use heapscribe_analyze::gathered::Gathered;
use heapscribe_wire::head::LossReason;

use super::verdict::{Culprit, Evidence};
use crate::losses;
use heapscribe_units::counted;

/// Blocks of a stack that were never freed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Leak {
    /// The stack, in the tree of all gathered stacks.
    pub stack: NodeId,
    /// The blocks and their bytes.
    pub amount: Amount,
    /// How sure that is.
    pub estimate: Estimate,
    /// The suppression that accepts it.
    pub suppressed: Option<usize>,
}

/// Stacks by one of their figures, the worst first, and how many more there are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Worst {
    /// The stacks that are named.
    pub culprits: Vec<Culprit>,
    /// How many more there are.
    pub more: usize,
}

/// A process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Subject {
    /// Most live bytes at a time.
    pub peak: Figure,
    /// Largest resident set.
    pub rss_bytes: u64,
    /// Blocks that were never freed.
    pub leaked: Estimate,
    /// All allocated blocks.
    pub allocated: Estimate,
    /// Blocks that their thread freed before it allocated another.
    pub temporary: Estimate,
    /// Calls that failed.
    pub failed: u64,
    /// All calls of the heap.
    pub calls: u64,
    /// How long the process was recorded.
    pub lived_ns: u64,
    /// The second with most allocations; `None` if it was not looked for.
    pub busiest: Option<Busiest>,
    /// How long the slowest call took, where calls were timed.
    pub slowest_ns: Option<u64>,
    /// Blocks never freed, by stack.
    pub leaks: Vec<Leak>,
    /// Stacks by their live bytes at the peak.
    pub at_peak: Worst,
    /// Stacks by allocated blocks.
    pub by_blocks: Worst,
    /// Stacks by allocated bytes.
    pub by_bytes: Worst,
    /// Stacks by temporary blocks.
    pub by_temporary: Worst,
    /// Stacks by failed calls.
    pub by_failed: Worst,
    /// Stacks by blocks allocated in the busiest second.
    pub in_busiest: Worst,
    /// Stacks by their slowest call.
    pub by_slowest: Worst,
    /// Whether only samples were recorded, at least at times.
    pub is_sampled: bool,
    /// Why its figures may be wrong.
    pub gaps: Vec<String>,
    /// Why what was never freed is not known.
    pub unended: Option<String>,
    /// Why calls in sections and after marks may have been overlooked.
    pub unnamed: Option<String>,
    /// Why rules about times are undecided.
    pub untimed: Option<String>,
}

impl Subject {
    /// Of an answer that is about one process.
    pub fn new(answer: &Answer, top: usize, gathered: &mut Gathered) -> Subject {
        let Some(process) = answer.processes.first() else { return Subject::default() };
        let sampling = answer.sampling.as_ref();
        let totals = &process.totals;
        let allocated = Amount { blocks: totals.allocations, bytes: totals.allocated_bytes };
        let sure = |amount, of: fn(&Sampling) -> Estimate| {
            sampling.map_or_else(|| exact(amount), |sampling| with_unseen(of(sampling), sampling))
        };
        let peak = Amount { blocks: process.peak.blocks, bytes: process.peak.bytes };
        let leaks = (0..).zip(&answer.stacks).filter(|(_, stack)| stack.leaked != Amount::default());
        let leak = |(n, stack): (usize, &Stack)| Leak {
            stack: gathered.stack(&answer.tree, stack.node),
            amount: stack.leaked,
            estimate: sampling
                .and_then(|sampling| sampling.stacks.get(n))
                .map_or_else(|| exact(stack.leaked), |of| of.leaked),
            suppressed: None,
        };
        let leaks: Vec<Leak> = leaks.map(leak).collect();
        let mut worst = |of: fn(&Stack) -> Amount, by_blocks| {
            let stacks = answer.stacks.iter().map(|stack| (stack.node, of(stack)));
            worst(stacks.collect(), by_blocks, top, |node| gathered.stack(&answer.tree, node))
        };
        Subject {
            peak: sure(peak, |sampling| sampling.peak).bytes,
            rss_bytes: process.rss_peak_bytes,
            leaked: sure(process.leaked, |sampling| sampling.leaked),
            allocated: sure(allocated, |sampling| sampling.allocated),
            temporary: sure(process.temporary, |sampling| sampling.temporary),
            failed: totals.failed,
            calls: totals.calls.all(),
            lived_ns: process.end_ns.saturating_sub(process.begin_ns),
            busiest: None,
            slowest_ns: None,
            leaks,
            at_peak: worst(|stack| stack.at_peak, false),
            by_blocks: worst(|stack| stack.allocated, true),
            by_bytes: worst(|stack| stack.allocated, false),
            by_temporary: worst(|stack| stack.temporary, true),
            by_failed: worst(|stack| Amount { blocks: stack.failed, bytes: 0 }, true),
            in_busiest: Worst::default(),
            by_slowest: Worst::default(),
            is_sampled: sampling.is_some(),
            gaps: gaps(answer, process),
            unended: (!process.ended.is_end()).then(|| {
                "the recording ended before the process did, so live blocks may have been freed later"
                    .to_owned()
            }),
            unnamed: unnamed(process),
            untimed: None,
        }
    }

    /// Several processes together, of which only the peak is a figure that is not the sum of theirs.
    pub fn together(answer: &Answer, top: usize, gathered: &mut Gathered) -> Subject {
        let stacks = answer.stacks.iter().map(|stack| (stack.node, stack.at_peak)).collect();
        let peak = Amount { blocks: answer.peak.blocks, bytes: answer.peak.bytes };
        let sampling = answer.sampling.as_ref();
        let estimate = sampling.map_or_else(|| exact(peak), |sampling| with_unseen(sampling.peak, sampling));
        let mut gaps: Vec<String> =
            answer.processes.iter().flat_map(|process| gaps(answer, process)).collect();
        gaps.dedup();
        Subject {
            peak: estimate.bytes,
            at_peak: worst(stacks, false, top, |node| gathered.stack(&answer.tree, node)),
            is_sampled: sampling.is_some(),
            gaps,
            ..Subject::default()
        }
    }

    /// The same of a log of heaphook's, whose times are counts of lines and whose calls are all of one thread.
    pub fn of_heaphook(self) -> Subject {
        let has_no = |what| Some(format!("a heaphook log has no {what}"));
        Subject { unnamed: has_no("threads, sections and marks"), untimed: has_no("times"), ..self }
    }
}

/// A figure without doubt.
fn sure(value: u64) -> Figure {
    let value = value as f64;
    Figure { value, variance: 0.0, low: value, high: value }
}

fn exact(amount: Amount) -> Estimate {
    Estimate { samples: amount.blocks, blocks: sure(amount.blocks), bytes: sure(amount.bytes) }
}

/// Of what no sample hit there may be as much as may go unseen; blocks of 0 bytes are the most of them.
fn with_unseen(mut estimate: Estimate, sampling: &Sampling) -> Estimate {
    if estimate.samples == 0 {
        let unseen = sampling.unseen_below_bytes() as f64;
        for figure in [&mut estimate.blocks, &mut estimate.bytes] {
            figure.high = figure.high.max(figure.value + unseen);
        }
    }
    estimate
}

/// The stacks with most blocks or bytes.
fn worst(
    mut stacks: Vec<(NodeId, Amount)>,
    by_blocks: bool,
    top: usize,
    mut gather: impl FnMut(NodeId) -> NodeId,
) -> Worst {
    let figure = |amount: &Amount| if by_blocks { amount.blocks } else { amount.bytes };
    stacks.retain(|(_, amount)| figure(amount) > 0);
    stacks.sort_by_key(|(node, amount)| (Reverse(figure(amount)), *node));
    let more = stacks.len().saturating_sub(top);
    let culprit =
        |(node, amount): &(NodeId, Amount)| Culprit { stack: gather(*node), what: Evidence::Blocks(*amount) };
    Worst { culprits: stacks.iter().take(top).map(culprit).collect(), more }
}

/// What of a process is not in the trace.
fn gaps(answer: &Answer, process: &Process) -> Vec<String> {
    let lost = losses::lost_events(answer);
    let mut gaps = Vec::new();
    if lost > 0 {
        gaps.push(format!("{} missing", are(lost)));
    }
    if !process.evicted.is_empty() {
        gaps.push(format!("{} evicted from the ring", counted(process.evicted.events, "event")));
    }
    // That events are missing is said already, and what a figure is made of them, too.
    if lost == 0 {
        gaps.extend(answer.problems.iter().cloned());
    }
    gaps
}

fn are(lost: u64) -> String {
    format!("{} {}", counted(lost, "event"), if lost == 1 { "is" } else { "are" })
}

fn unnamed(process: &Process) -> Option<String> {
    let is_of = |reason| {
        matches!(LossReason::from_number(reason), Some(LossReason::NameTable | LossReason::SectionDepth))
    };
    let count: u64 =
        process.dropped.iter().filter(|d| is_of(d.reason)).map(|d| d.count).fold(0, u64::saturating_add);
    (count > 0).then(|| format!("marks and sections were not followed, {}", counted(count, "time")))
}
