//! The peak in the summary of `record`: the one that `report` shows, with the same time.
//!
//! While chunks pass by, the level is known exactly when all of them are of one thread; those of several come
//! in the order of being full. Then the trace is read once more, unless it is so long that the program would
//! seem to hang at its end. Where something is missing - a ring has evicted events, some were lost, recording was off -
//! a report is made of it, so that its bounds are printed and no others.

use std::path::Path;

use anyhow::Result;
use heapscribe_analyze::answer::{Answer, Range};
use heapscribe_analyze::input::History as _;
use heapscribe_analyze::{Highest, Options, Recording, highest};
use heapscribe_collect::Summary;
use heapscribe_convert::{Input, Salvage};
use heapscribe_views::losses::lost_events;
use heapscribe_views::text::bounds;
use heapscribe_wire::head::DROP_COUNTERS;

/// Longer recordings of several threads are not read once more. A whole report of 10 million events of two threads
/// took 0.28 s of CPU on 2026-11-22, on 2 cores of a Xeon guest, and this is a part of it.
const EVENTS_MAX: u64 = 20_000_000;

/// A peak to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ShownPeak {
    /// Live bytes of all processes together: between these.
    pub(crate) bytes: Range,
    /// What was recorded of them.
    pub(crate) seen_bytes: u64,
    /// When, ns after the first process began; `None` where that is not known.
    pub(crate) time_ns: Option<u64>,
}

impl ShownPeak {
    fn new(highest: Highest) -> ShownPeak {
        let Highest { bytes, time_ns } = highest;
        ShownPeak { bytes: Range::exact(bytes), seen_bytes: bytes, time_ns: Some(time_ns) }
    }
}

/// What a report says of a recording from which something is missing.
#[derive(Clone, Debug)]
pub(crate) struct Reported {
    pub(crate) peak: ShownPeak,
    /// Blocks that were never freed, in its words.
    pub(crate) unfreed: String,
    pub(crate) lost_events: u64,
    /// What was lost, by reason.
    pub(crate) drops: [u64; DROP_COUNTERS],
}

/// The report of a recording whose trace is at `path`, if it is one of ours; `None` where nothing is missing
/// from it, or where it is too long.
pub(crate) fn reported(summary: &Summary, path: &Path, is_native: bool) -> Option<Reported> {
    let evicted = summary.evicted.unwrap_or_default();
    let is_short = summary.events.saturating_sub(evicted.events) <= EVENTS_MAX;
    let is_any = summary.is_rest || !evicted.is_empty() || summary.has_losses();
    // A trace that cannot be opened has been reported.
    (is_any && is_native && is_short).then(|| read(path).ok()).flatten()
}

/// The peak where no report was made; `None` where it takes one to know it.
pub(crate) fn of(summary: &Summary, path: &Path, is_whole: bool) -> Option<ShownPeak> {
    if summary.is_rest || !summary.evicted.unwrap_or_default().is_empty() {
        return None;
    }
    let peak = summary.level.peak();
    let seen = Highest {
        bytes: u64::try_from(peak.bytes).unwrap_or(0),
        time_ns: peak.mono_ns.saturating_sub(summary.first_mono_ns),
    };
    let is_exact = summary.level.is_exact();
    let is_read = is_whole && (is_exact || summary.events <= EVENTS_MAX);
    let read = is_read.then(|| in_trace(summary, path).ok()).flatten();
    // The level of several threads is none: of two that hand a block to each other it was 3,000 times the peak.
    read.or(is_exact.then_some(seen)).map(ShownPeak::new)
}

fn read(path: &Path) -> Result<Reported> {
    let trace = Input::open(path)?.into_trace(Salvage::default())?;
    let answer = trace.analyze();
    let mut drops = [0; DROP_COUNTERS];
    for dropped in &answer.dropped {
        drops.get_mut(usize::from(dropped.reason)).into_iter().for_each(|count| *count = dropped.count);
    }
    let bounds = bounds::of(&answer, |bounds| &bounds.leaked);
    let unfreed = bounds::Shown { seen: answer.leaked, estimate: None, bounds }.amount();
    Ok(Reported { peak: peak(&answer), unfreed, lost_events: lost_events(&answer), drops })
}

/// The peak of the whole run, or between what it lies.
fn peak(answer: &Answer) -> ShownPeak {
    let Answer { peak, whole_peak, bounds, evicted, .. } = answer;
    let seen = Range { low: peak.bytes, high: evicted.is_empty().then_some(peak.bytes) };
    let bytes = bounds.as_ref().map_or(seen, |bounds| bounds.peak.bytes);
    let in_window = (evicted.is_empty() || bytes.low == peak.bytes).then_some(peak.time_ns);
    let time_ns = whole_peak.map(|whole| whole.time_ns).or(in_window);
    ShownPeak { bytes, seen_bytes: peak.bytes, time_ns }
}

fn in_trace(summary: &Summary, path: &Path) -> Result<Highest> {
    let trace = Input::open(path)?.into_trace(Salvage::default())?;
    let recording = Recording::new(&*trace);
    if !summary.level.is_exact() {
        return Ok(highest(&recording, &Options::default()));
    }
    let peak = summary.level.peak();
    let at = trace.processes().iter().position(|process| process.index == peak.process);
    let facts = at.and_then(|at| recording.processes().into_iter().nth(at)).unwrap_or_default();
    let time_ns = facts.clock.ns(peak.ticks).saturating_sub(recording.session().begin_mono_ns);
    Ok(Highest { bytes: u64::try_from(peak.bytes).unwrap_or(0), time_ns })
}
