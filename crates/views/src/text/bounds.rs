//! Figures that losses have touched: between what they lie, in words. A figure that nothing has touched is
//! printed as the exact number that it is.

use std::io;

use heapscribe_analyze::answer::{Amount, Answer, Bounds, FigureBounds, Process, Range, Stack};
use heapscribe_analyze::estimate::Estimate;
use heapscribe_analyze::measure::Measure;

use super::{Out, estimate};
use crate::losses;
use heapscribe_units::{count, counted, duration};

const UNKNOWN: Range = Range { low: 0, high: None };

/// `between 6,000 bytes (5.86 KiB) and 525,000,000 bytes (501 MiB)`.
pub fn bytes(range: &Range) -> String {
    let shown = heapscribe_units::bytes;
    match (range.low, range.high) {
        (low, Some(high)) if low == high => shown(low),
        (0, Some(high)) => format!("at most {}", shown(high)),
        (low, Some(high)) => format!("between {} and {}", shown(low), shown(high)),
        (0, None) => "an unknown number of bytes".to_owned(),
        (low, None) => format!("at least {}", shown(low)),
    }
}

/// `between 4 and 500,817 blocks`.
pub fn blocks(range: &Range, singular: &str) -> String {
    match (range.low, range.high) {
        (low, Some(high)) if low == high => counted(low, singular),
        (0, Some(high)) => format!("at most {}", counted(high, singular)),
        (low, Some(high)) => format!("between {} and {}", count(low), counted(high, singular)),
        (0, None) => format!("an unknown number of {singular}s"),
        (low, None) => format!("at least {}", counted(low, singular)),
    }
}

/// `between ... and ... in between ... and ... blocks`.
pub fn amount(bounds: &Bounds) -> String {
    let bytes = bytes(&bounds.bytes);
    if bounds.blocks == UNKNOWN {
        return bytes;
    }
    format!("{bytes} in {}", blocks(&bounds.blocks, "block"))
}

/// A figure and its bounds or, where blocks were sampled, how sure it is.
pub struct Shown<'a> {
    /// What was seen.
    pub seen: Amount,
    /// When blocks were sampled.
    pub estimate: Option<&'a Estimate>,
    /// When losses have touched it.
    pub bounds: Option<&'a Bounds>,
}

impl Shown<'_> {
    fn open(&self) -> Option<&Bounds> {
        self.bounds.filter(|bounds| !bounds.is_exact())
    }

    /// The bytes.
    pub fn bytes(&self) -> String {
        let exact = || estimate::bytes(self.seen.bytes, self.estimate);
        self.open().map_or_else(exact, |bounds| bytes(&bounds.bytes))
    }

    /// The blocks.
    pub fn blocks(&self, singular: &str) -> String {
        let exact = || estimate::blocks(self.seen.blocks, singular, self.estimate);
        self.open().map_or_else(exact, |bounds| blocks(&bounds.blocks, singular))
    }

    /// The bytes in the blocks.
    pub fn amount(&self) -> String {
        let seen = || {
            let blocks = estimate::blocks(self.seen.blocks, "block", self.estimate);
            match estimate::unseen_range(self.estimate) {
                range if range.is_empty() => {
                    format!("{} in {blocks}", estimate::bytes(self.seen.bytes, self.estimate))
                }
                range => format!("{} in {blocks}{range}", heapscribe_units::bytes(self.seen.bytes)),
            }
        };
        match self.open() {
            None => seen(),
            Some(bounds) if bounds.bytes == UNKNOWN => format!("unknown; recorded were {}", seen()),
            Some(bounds) => amount(bounds),
        }
    }
}

/// A peak that was seen at a time and may have been another one: `at least 5,000 bytes (4.88 KiB); the most that was
/// recorded, 28.7 MiB, was 3.36 ms after the start`. The time is of what was seen, not of a lower bound.
pub fn peak(shown: &Shown<'_>, time: &str) -> String {
    match open_peak(shown, time) {
        Some(open) => open,
        None => format!("{}, {time} after the start", shown.amount()),
    }
}

/// The same where it may have been another one.
fn open_peak(shown: &Shown<'_>, time: &str) -> Option<String> {
    let is_elsewhere = |range: &Range| *range != UNKNOWN && range.low < shown.seen.bytes;
    let open = shown.open().filter(|bounds| is_elsewhere(&bounds.bytes));
    open.map(|_| format!("{}; {}", shown.amount(), recorded_peak(shown.seen.bytes, time)))
}

/// The same as a sentence.
pub fn largest(shown: &Shown<'_>, time: &str) -> Option<String> {
    open_peak(shown, time).map(|open| format!("At its largest the heap was {open}"))
}

/// `the most that was recorded, 28.7 MiB, was 3.36 ms after the start`.
pub fn recorded_peak(seen_bytes: u64, time: &str) -> String {
    format!(
        "the most that was recorded, {}, was {time} after the start",
        heapscribe_units::short_bytes(seen_bytes)
    )
}

/// The bounds of a figure of an answer, when losses have touched any.
pub fn of(answer: &Answer, figure: fn(&FigureBounds) -> &Bounds) -> Option<&Bounds> {
    answer.bounds.as_ref().map(figure)
}

/// Words beside the peak of a process that something missing has touched; a ring's own peak is what it is.
pub fn of_recorded(answer: &Answer, process: &Process) -> &'static str {
    let bounds = process.bounds.as_ref().filter(|_| !answer.evicted.is_of_ring());
    if bounds.is_some_and(|bounds| !bounds.peak.is_exact()) { ", of what was recorded," } else { "" }
}

/// Between what a figure of stacks lies, when that is known and no number.
pub fn of_stacks(answer: &Answer, by: Measure, stacks: &[&Stack]) -> Option<Bounds> {
    let bounds = answer.bounds.as_ref()?;
    let mut sum = Bounds::default();
    for stack in stacks {
        let at = answer.stacks.binary_search_by_key(&stack.node, |s| s.node).ok()?;
        let of_stack = bounds.stacks.get(at)?;
        sum.add(match by {
            Measure::Peak => &of_stack.at_peak,
            Measure::Leaked => &of_stack.leaked,
            Measure::Allocated | Measure::Count | Measure::Temporary => return None,
        });
    }
    Some(sum).filter(|bounds| !bounds.is_exact())
}

/// How old leaks of stacks are, where that is known and their figure exact: `, 12 s old`, or from the youngest to the
/// oldest.
pub fn ages(answer: &Answer, by: Measure, stacks: &[&Stack]) -> String {
    if of_stacks(answer, by, stacks).is_some() {
        return String::new();
    }
    let known = || stacks.iter().filter_map(|stack| stack.leaked_age);
    let (youngest, oldest) =
        (known().map(|age| age.youngest_ns).min(), known().map(|age| age.oldest_ns).max());
    match youngest.zip(oldest).filter(|_| by == Measure::Leaked) {
        Some((youngest, oldest)) if youngest == oldest => format!(", {} old", duration(oldest)),
        Some((youngest, oldest)) => format!(", {} to {} old", duration(youngest), duration(oldest)),
        None => String::new(),
    }
}

/// Whether figures are estimates of a part of the run: they have no bounds, and the events before are not in the trace.
pub fn is_part_estimated(answer: &Answer) -> bool {
    answer.sampling.is_some() && !answer.evicted.is_counted()
}

/// Why a figure of events is not exact, where it is not; an estimate of a part of them is not, either.
pub fn why_of_events(out: Out<'_>, answer: &Answer, bounds: Option<&Bounds>) -> io::Result<()> {
    if is_part_estimated(answer) {
        return writeln!(out, "  Not known exactly: {}.", losses::causes(answer).join("; "));
    }
    why(out, answer, bounds)
}

/// Why a figure is not exact, where it is not.
pub fn why(out: Out<'_>, answer: &Answer, bounds: Option<&Bounds>) -> io::Result<()> {
    let causes = losses::causes(answer);
    match bounds {
        Some(bounds) if !bounds.is_exact() && !causes.is_empty() => {
            writeln!(out, "  Not known exactly: {}.", causes.join("; "))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_in_words() {
        for (low, high, of_bytes, of_blocks) in [
            (7, Some(7), "7 bytes", "7 blocks"),
            (0, Some(1), "at most 1 byte", "at most 1 block"),
            (2, Some(7), "between 2 bytes and 7 bytes", "between 2 and 7 blocks"),
            (2, None, "at least 2 bytes", "at least 2 blocks"),
            (0, None, "an unknown number of bytes", "an unknown number of blocks"),
        ] {
            let range = Range { low, high };
            assert_eq!((bytes(&range).as_str(), blocks(&range, "block").as_str()), (of_bytes, of_blocks));
        }
    }
}
