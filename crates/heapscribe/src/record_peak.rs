//! The peak in the summary of `record`: the one that `report` shows, with the same time.
//!
//! While chunks pass by, the level is known exactly when all of them are of one thread; those of several come
//! in the order of being full. Then the trace is read once more, unless it is so long that the program would
//! seem to hang at its end. Of a ring that has evicted events it is always read: what its report knows of the peak
//! depends on what it still has.

use std::path::Path;

use anyhow::Result;
use heapscribe_analyze::answer::{Answer, Range};
use heapscribe_analyze::input::History as _;
use heapscribe_analyze::{Highest, Options, Recording, analyze, highest};
use heapscribe_collect::Summary;
use heapscribe_convert::{Input, Salvage};

/// Longer recordings of several threads are not read once more. A whole report of 10 million events of two threads
/// took 0.28 s of CPU on 2026-11-22, on 2 cores of a Xeon guest, and this is a part of it.
const EVENTS_MAX: u64 = 20_000_000;

/// A peak to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ShownPeak {
    /// Live bytes of all processes together: between these.
    pub(crate) bytes: Range,
    /// When, ns after the first process began; `None` where that is not known.
    pub(crate) time_ns: Option<u64>,
    /// Whether it is what a report shows.
    pub(crate) is_exact: bool,
}

impl ShownPeak {
    fn new(highest: Highest, is_exact: bool) -> ShownPeak {
        ShownPeak { bytes: Range::exact(highest.bytes), time_ns: Some(highest.time_ns), is_exact }
    }
}

/// The peak of a recording whose trace is at `path`, whole if it is a trace of ours; `None` where it takes a report
/// to know it.
pub(crate) fn of(summary: &Summary, path: &Path, is_whole: bool) -> Option<ShownPeak> {
    let evicted = summary.evicted.unwrap_or_default();
    if !evicted.is_empty() {
        let is_short = summary.events.saturating_sub(evicted.events) <= EVENTS_MAX;
        // A trace that cannot be opened has been reported.
        return (is_whole && is_short).then(|| in_ring(path).ok()).flatten();
    }
    let peak = summary.level.peak();
    let seen = Highest {
        bytes: u64::try_from(peak.bytes).unwrap_or(0),
        time_ns: peak.mono_ns.saturating_sub(summary.first_mono_ns),
    };
    let is_short = summary.level.is_exact() || summary.events <= EVENTS_MAX;
    if !(is_whole && is_short) {
        return Some(ShownPeak::new(seen, summary.level.is_exact()));
    }
    Some(match in_trace(summary, path) {
        Ok(highest) => ShownPeak::new(highest, true),
        Err(_) => ShownPeak::new(seen, false),
    })
}

/// What the report of a ring has: the peak of the whole run, or between what it lies.
fn in_ring(path: &Path) -> Result<ShownPeak> {
    let trace = Input::open(path)?.into_trace(Salvage::default())?;
    let Answer { peak, whole_peak, bounds, .. } = analyze(&Recording::new(&*trace), &Options::default());
    let bytes = bounds.map_or(Range { low: peak.bytes, high: None }, |bounds| bounds.peak.bytes);
    let in_window = (bytes.low == peak.bytes).then_some(peak.time_ns);
    Ok(ShownPeak { bytes, time_ns: whole_peak.map(|whole| whole.time_ns).or(in_window), is_exact: true })
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
