//! Ranges of a trace by stack, thread and process: what a profile is made of.

use std::path::Path;

use anyhow::Result;
use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::input::Choice;
use heapscribe_analyze::measure::Measure;
use heapscribe_convert::Opened;
use heapscribe_convert::ranges::StackSamples;
use heapscribe_index::{Death, Question, Span};

use super::range::{Range, open, without_stacks};
use crate::cli::RangeArgs;

/// What each thread allocated from each stack in a range, and what of it is live at its end or the moment asked for.
pub(super) struct Sampled {
    pub(super) samples: StackSamples,
    /// When the range begins, and how long it is, ns after the start.
    pub(super) begin_ns: u64,
    pub(super) duration_ns: u64,
    /// What is missing.
    pub(super) missing: Answer,
}

/// Asks for it, once for each step of this length, ns, or once for all of the range. Of steps all that is live at their
/// ends counts, of a range what was allocated in it.
pub(super) fn samples_of(
    trace: &Opened,
    path: &Path,
    choice: &Choice,
    args: &RangeArgs,
    step_ns: Option<u64>,
    each: &mut dyn FnMut(Sampled) -> Result<()>,
) -> Result<()> {
    let recording = trace.recording();
    let ranges = open(args, path, &recording)?;
    let chosen = trace.chosen(choice)?;
    let range = Range::of(args, &ranges)?;
    let extent = ranges.extent();
    let since = |ns: u64| ns.saturating_sub(extent.begin_ns).min(extent.duration_ns);
    let mut sampled = |born: Span, live: &Question| {
        let allocated = ranges.ask_of(&Question::allocated(born), &chosen);
        let samples = StackSamples::new(&recording, &allocated, &ranges.ask_of(live, &chosen));
        let mut missing = without_stacks(&ranges, &chosen);
        missing.problems.extend_from_slice(&samples.problems);
        missing.problems.extend_from_slice(&trace.problems);
        let begin_ns = since(born.from_ns);
        each(Sampled { samples, begin_ns, duration_ns: since(born.to_ns) - begin_ns, missing })
    };
    let Some(step_ns) = step_ns else {
        return sampled(range.born_in_time(), &range.question(Measure::Leaked)?);
    };
    let end_ns = extent.begin_ns.saturating_add(extent.duration_ns);
    let mut from_ns = range.time.from_ns.max(extent.begin_ns);
    while from_ns < range.time.to_ns.min(end_ns) {
        let to_ns = from_ns.saturating_add(step_ns.max(1)).min(range.time.to_ns);
        // With the end of the recording its processes have ended, and what they never freed counts.
        let (to_ns, live) = match to_ns >= end_ns {
            true => (u64::MAX, Question { born: Span::ALL, death: Death::NotUntil(u64::MAX) }),
            false => (to_ns, Question::generation(Span::ALL, to_ns - 1)),
        };
        sampled(Span { from_ns, to_ns }, &live)?;
        from_ns = to_ns;
    }
    Ok(())
}
