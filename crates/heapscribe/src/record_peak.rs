//! The peak in the summary of `record`: the one that `report` shows, with the same time.
//!
//! While chunks pass by, the level is known exactly when all of them are of one thread; those of several come
//! in the order of being full. Then the trace is read once more, unless it is so long that the program would
//! seem to hang at its end.

use std::path::Path;

use anyhow::Result;
use heapscribe_analyze::input::History as _;
use heapscribe_analyze::{Highest, Options, Recording, highest};
use heapscribe_collect::Summary;
use heapscribe_convert::{Input, Salvage};

/// Longer recordings of several threads are not read once more. A whole report of 10 million events of two threads
/// took 0.28 s of CPU on 2026-11-22, on 2 cores of a Xeon guest, and this is a part of it.
const EVENTS_MAX: u64 = 20_000_000;

/// A peak to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ShownPeak {
    /// Live bytes of all processes together.
    pub(crate) bytes: u64,
    /// When, ns after the first process began.
    pub(crate) time_ns: u64,
    /// Whether it is what a report shows.
    pub(crate) is_exact: bool,
}

/// The peak of a recording whose trace is at `path`, whole if it is a trace of ours.
pub(crate) fn of(summary: &Summary, path: &Path, is_whole: bool) -> ShownPeak {
    let peak = summary.level.peak();
    let seen = ShownPeak {
        bytes: u64::try_from(peak.bytes).unwrap_or(0),
        time_ns: peak.mono_ns.saturating_sub(summary.first_mono_ns),
        is_exact: false,
    };
    let has_all = summary.evicted.is_none_or(|evicted| evicted.is_empty());
    let is_short = summary.level.is_exact() || summary.events <= EVENTS_MAX;
    if !(is_whole && has_all && is_short) {
        return ShownPeak { is_exact: summary.level.is_exact(), ..seen };
    }
    // A trace that cannot be opened has been reported.
    in_trace(summary, path).map_or(seen, |Highest { bytes, time_ns }| ShownPeak {
        bytes,
        time_ns,
        is_exact: true,
    })
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
