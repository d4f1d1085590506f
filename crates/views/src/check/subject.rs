//! The figures of one process that rules are about, taken from the answer of that process alone. Of its stacks
//! only those are retained that may be named, so that many processes need little memory.

use heapscribe_analyze::answer::{
    Amount, Answer, Bounds, FigureBounds, Frame, NodeId, Process, Range, Stack,
};
use heapscribe_analyze::busiest::Busiest;
use heapscribe_analyze::estimate::{Estimate, Figure, Sampling, StackEstimates};
use heapscribe_analyze::gathered::Gathered;
use heapscribe_formats::model::{Evicted, UNKNOWN};
use heapscribe_wire::head::LossReason;

use super::rule::Limited;
use super::temporary;
use super::worst::{Worst, contributions, worst};
use crate::losses::{self, Missing};
use crate::open_end::OpenEnd;
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
    /// Whether it is all that is known to be leaked of stacks that are not known.
    pub is_of_no_stack: bool,
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
    /// How many of those may not be, since their threads may have allocated unseen before the free.
    pub unsure_temporary: u64,
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
    /// A stack of fewer bytes may have gone without a sample; 0 where nothing is estimated.
    pub unseen_bytes: u64,
    /// Whether figures that losses have touched have a range in which the truth lies.
    pub is_bounded: bool,
    /// Whether estimates have no upper end, as nothing was recorded for a time; but for that nothing is missing.
    pub is_open_above: bool,
    /// What was never freed of which the stacks are not known, so that suppressions may be meant for it.
    pub of_no_stack: Amount,
    /// What was lost or evicted that touches figures.
    pub causes: Vec<String>,
    /// What a ring evicted.
    pub evicted: Option<String>,
    /// The same among the causes, of a ring.
    pub of_ring: Option<String>,
    /// How many events are missing.
    pub lost: Option<String>,
    /// For how long nothing was recorded.
    pub off: Option<String>,
    /// What else may be wrong.
    pub problems: Vec<String>,
    /// Whether nobody knows how much of it is not in the trace.
    pub is_cut: bool,
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
        let bounds = process.bounds.as_ref();
        let sure = |amount, of: fn(&Sampling) -> Estimate, bounds_of: fn(&FigureBounds) -> &Bounds| {
            match (bounds, sampling) {
                // Samples have bounds only where their estimates are of no more than a part.
                (Some(bounds), _) => within(amount, bounds_of(bounds)),
                (None, Some(sampling)) => of(sampling),
                (None, None) => exact(amount),
            }
        };
        let peak = Amount { blocks: process.peak.blocks, bytes: process.peak.bytes };
        let leaks = (0..).zip(&answer.stacks).filter(|(_, stack)| stack.leaked != Amount::default());
        let is_evicted = |stack: &&Stack| answer.tree.nodes[stack.node.0 as usize].frame == Frame::EVICTED;
        let of_no_stack =
            answer.stacks.iter().find(is_evicted).map_or(Amount::default(), |stack| stack.leaked);
        let leak = |(n, stack): (usize, &Stack)| Leak {
            stack: gathered.stack(&answer.tree, stack.node),
            amount: stack.leaked,
            estimate: sampling
                .filter(|_| bounds.is_none())
                .and_then(|sampling| sampling.stacks.get(n))
                .map_or_else(|| of_stack(answer, n, stack.leaked), |of| of.leaked),
            suppressed: None,
            is_of_no_stack: is_evicted(&stack),
        };
        let leaks: Vec<Leak> = leaks.map(leak).collect();
        let mut worst = |of: fn(&Stack) -> Amount, estimate: fn(&StackEstimates) -> Estimate, by_blocks| {
            let stacks = contributions(answer, of, estimate);
            worst(stacks, by_blocks, top, |node| gathered.stack(&answer.tree, node))
        };
        Subject {
            peak: sure(peak, |sampling| sampling.peak, |bounds| &bounds.peak).bytes,
            rss_bytes: process.rss_peak_bytes,
            leaked: sure(process.leaked, |sampling| sampling.leaked, |bounds| &bounds.leaked),
            allocated: sure(allocated, |sampling| sampling.allocated, |bounds| &bounds.allocated),
            temporary: temporary_of(process, sampling),
            unsure_temporary: temporary::unsure(answer, process),
            failed: totals.failed,
            calls: totals.calls.all(),
            lived_ns: process.end_ns.saturating_sub(process.begin_ns),
            leaks,
            at_peak: worst(|stack| stack.at_peak, |of| of.at_peak, false),
            by_blocks: worst(|stack| stack.allocated, |of| of.allocated, true),
            by_bytes: worst(|stack| stack.allocated, |of| of.allocated, false),
            by_temporary: worst(|stack| stack.temporary, |of| of.temporary, true),
            by_failed: worst(
                |stack| Amount { blocks: stack.failed, bytes: 0 },
                |_| Estimate::default(),
                true,
            ),
            in_busiest: Worst::default(),
            by_slowest: Worst::default(),
            is_sampled: sampling.is_some(),
            unseen_bytes: sampling.filter(|of| of.has_estimates()).map_or(0, Sampling::unseen_below_bytes),
            is_bounded: bounds.is_some(),
            of_no_stack,
            is_cut: process.is_unfinished || process.gap_at.is_some(),
            unended: OpenEnd::of(process).map(|open| open.gap().to_owned()),
            unnamed: unnamed(process),
            ..Subject::default()
        }
        .missing(answer, process.evicted.events)
        .or_more()
    }

    /// Several processes together, of which only the peak is a figure that is not the sum of theirs.
    pub fn together(answer: &Answer, top: usize, gathered: &mut Gathered) -> Subject {
        let stacks = contributions(answer, |stack| stack.at_peak, |of| of.at_peak);
        let peak = Amount { blocks: answer.peak.blocks, bytes: answer.peak.bytes };
        let estimate = match (&answer.bounds, &answer.sampling) {
            (Some(bounds), _) => within(peak, &bounds.peak),
            (None, Some(sampling)) => sampling.peak,
            (None, None) => exact(peak),
        };
        Subject {
            peak: estimate.bytes,
            at_peak: worst(stacks, false, top, |node| gathered.stack(&answer.tree, node)),
            is_sampled: answer.sampling.is_some(),
            is_bounded: answer.bounds.is_some(),
            ..Subject::default()
        }
        .missing(answer, answer.evicted.events)
        .or_more()
    }

    /// The same, open above where an estimate lacks what was allocated while recording was off. What was recorded before
    /// is followed to its end, so that the lower ends stay.
    fn or_more(mut self) -> Subject {
        self.is_open_above = !self.is_bounded && self.off.is_some() && self.causes.len() == 1;
        if self.is_open_above {
            let of_all = [&mut self.leaked, &mut self.allocated];
            let of_stacks = self.leaks.iter_mut().map(|leak| &mut leak.estimate);
            for of in of_all.into_iter().chain(of_stacks) {
                (of.blocks.high, of.bytes.high) = (f64::INFINITY, f64::INFINITY);
            }
            self.peak.high = f64::INFINITY;
        }
        if !self.causes.is_empty() || !self.problems.is_empty() {
            self.temporary = temporary::at_least(self.temporary, self.unsure_temporary);
        }
        self
    }

    /// Leaks of stacks that are not known may be such that a suppression accepts.
    pub fn doubt_leaks_of_no_stack(&mut self) {
        let Amount { blocks, bytes } = self.of_no_stack;
        if blocks == 0 {
            return;
        }
        self.is_bounded = true;
        for (figure, part) in [(&mut self.leaked.blocks, blocks), (&mut self.leaked.bytes, bytes)] {
            figure.low = (figure.low - part as f64).max(0.0);
        }
        for leak in self.leaks.iter_mut().filter(|leak| leak.is_of_no_stack) {
            (leak.estimate.blocks.low, leak.estimate.bytes.low) = (0.0, 0.0);
        }
    }

    /// The same together with processes that a ring has evicted, of which each may be one of these.
    pub fn or_evicted(mut self, evicted: &Evicted) -> Subject {
        if evicted.processes > 0 {
            let is_known = evicted.ended.images == evicted.processes && evicted.ended.peaks_bytes != UNKNOWN;
            self.peak.high += if is_known { evicted.ended.peaks_bytes as f64 } else { f64::INFINITY };
            self.is_bounded = true;
        }
        self
    }

    /// The same with what is missing of an answer, of which a ring evicted so many events.
    fn missing(self, answer: &Answer, evicted: u64) -> Subject {
        let (lost, missing) = (losses::lost_events(answer), Missing::of(answer));
        let causes = missing.causes();
        let of_ring = (evicted > 0).then(|| format!("{} evicted from the ring", counted(evicted, "event")));
        Subject {
            causes: causes.iter().chain(&of_ring).cloned().collect(),
            lost: (lost > 0).then(|| format!("{} missing", are(lost))),
            off: missing.off(),
            evicted: of_ring.clone().or_else(|| missing.before()),
            of_ring,
            // That events are missing is said already, and what a figure is made of them, too.
            problems: if causes.is_empty() { answer.problems.clone() } else { Vec::new() },
            ..self
        }
    }

    /// Why figures that losses have touched, and that have no range, may be wrong.
    pub fn gaps(&self) -> Vec<String> {
        let lost = self.lost.iter().chain(&self.off).chain(&self.evicted);
        lost.chain(&self.problems).cloned().collect()
    }

    /// The same of a figure with a limit.
    pub fn gaps_of(&self, limited: Limited) -> Vec<String> {
        let with = |causes: &[String]| causes.iter().chain(&self.problems).cloned().collect();
        match limited {
            Limited::Peak if self.is_bounded => self.problems.clone(),
            _ if limited.is_of_leaks() && self.is_bounded => self.problems.clone(),
            Limited::Allocations | Limited::Allocated | Limited::MeanAllocRate if self.is_bounded => {
                self.problems.clone()
            }
            Limited::Peak | Limited::Temporary | Limited::TemporaryPart => with(&self.causes),
            // What is live at the end is in a table, of samples too: no event is needed for it.
            _ if limited.is_of_leaks() && self.is_sampled => {
                let others = self.causes.iter().filter(|cause| Some(*cause) != self.of_ring.as_ref());
                others.chain(&self.problems).cloned().collect()
            }
            _ if limited.is_of_leaks() => with(&self.causes),
            // Resident memory is sampled in every mode.
            Limited::Rss => self.lost.iter().chain(&self.evicted).chain(&self.problems).cloned().collect(),
            _ => self.gaps(),
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

/// A figure that losses have touched.
fn within(seen: Amount, bounds: &Bounds) -> Estimate {
    let figure = |value: u64, range: &Range| Figure {
        // What was seen in a ring is less than what happened.
        value: value.max(range.low) as f64,
        variance: 0.0,
        low: range.low as f64,
        high: range.high.map_or(f64::INFINITY, |high| high as f64),
    };
    let (blocks, bytes) = (figure(seen.blocks, &bounds.blocks), figure(seen.bytes, &bounds.bytes));
    Estimate { samples: seen.blocks, blocks, bytes }
}

/// What a stack never freed: within its bounds where there are any, else at least what it has of the lower bound of all
/// stacks. That is less than they have together by what may have been freed unseen, which may all be of one of them.
fn of_stack(answer: &Answer, number: usize, leaked: Amount) -> Estimate {
    let Some(bounds) = answer.bounds.as_ref().filter(|bounds| !bounds.leaked.is_exact()) else {
        return exact(leaked);
    };
    if let Some(of) = bounds.stacks.get(number) {
        return within(leaked, &of.leaked);
    }
    let mut all = Amount::default();
    answer.stacks.iter().for_each(|stack| all.add(&stack.leaked));
    let least = |of_stack: u64, of_all: u64, low: u64| {
        of_all.checked_sub(low).map_or(0, |freed| of_stack.saturating_sub(freed))
    };
    let Bounds { blocks, bytes } = &bounds.leaked;
    let least = Amount {
        blocks: least(leaked.blocks, all.blocks, blocks.low),
        bytes: least(leaked.bytes, all.bytes, bytes.low),
    };
    within(leaked, &Bounds::between(least, None))
}

/// The temporary blocks of a process. Where its samples are of no more than a part nothing is known of them.
fn temporary_of(process: &Process, sampling: Option<&Sampling>) -> Estimate {
    match sampling {
        None => exact(process.temporary),
        Some(_) if process.bounds.is_some() => within(process.temporary, &unknown()),
        Some(sampling) => sampling.temporary,
    }
}

/// Any amount at all.
fn unknown() -> Bounds {
    Bounds::between(Amount::default(), None)
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
