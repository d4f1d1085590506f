//! Traces of Go's to answers: the heap over time, what the collector did, and with the experiment of Go
//! 1.23 the objects by type.
//!
//! *You bring* an open [`heapscribe_formats::gotrace::Trace`]. *It guarantees* memory that grows with kinds of stops, goroutines,
//! types and objects that are there at a time, not with events. *It refuses* to guess who allocated what
//! the trace does not say: an object's goroutine is known, its stack is not in the file.

mod answer;
mod collector;
mod curve;
mod goroutines;
mod objects;

use std::convert::Infallible;
use std::ops::ControlFlow;

use heapscribe_formats::Source;
use heapscribe_formats::gotrace::{GoTraceError, Meaning, Trace};

pub use self::answer::{
    Allocator, Collection, Collections, CurveStep, GoAnswer, HeapCurve, Level, Objects, Stop, TypeSums, Work,
};
use self::collector::Collector;
use self::curve::CurveBuilder;
use self::goroutines::Goroutines;
use self::objects::ObjectTable;
use crate::options::Options;

/// Answers everything about a Go trace at once.
///
/// # Errors
/// When its bytes can no longer be read.
pub fn analyze<S: Source>(trace: &Trace<S>, options: &Options) -> Result<GoAnswer, GoTraceError> {
    let (first, last) = trace.ticks().unwrap_or_default();
    let duration_ns = trace.ns(last);
    let mut curve = CurveBuilder::new(duration_ns, options.timeline_steps);
    let mut collector = Collector::default();
    let mut goroutines = Goroutines::default();
    let mut objects = ObjectTable::new(trace);
    let ended = trace.for_each(|event| {
        let (ns, meaning) = (trace.ns(event.ticks), event.meaning());
        goroutines.event(trace, event, &meaning);
        match meaning {
            Meaning::HeapLive(bytes) => curve.live(ns, bytes),
            Meaning::HeapGoal(bytes) => curve.goal(ns, bytes),
            _ => {}
        }
        collector.event(trace, event, &meaning, ns, goroutines.of(event.lane));
        objects.event(trace, event, &meaning, ns, goroutines.site(event.lane));
        ControlFlow::<Infallible>::Continue(())
    });
    ended?;
    let at_peak = match objects.peak_event() {
        Some(peak) => held_at(trace, peak)?,
        None => Vec::new(),
    };
    let has_objects = trace.heap_events() != 0;
    Ok(GoAnswer {
        version: trace.version().to_string(),
        has_clock: trace.frequency().is_some(),
        begin_ticks: first,
        duration_ns,
        events: trace.events(),
        cpu_samples: trace.cpu_samples(),
        generations: trace.generations().len() as u64,
        curve: curve.finish(),
        objects: has_objects.then(|| objects.finish(&at_peak, goroutines.names())),
        ..collector.finish()
    })
}

/// What each kind of object held when there were most bytes: the events are read again up to there.
fn held_at<S: Source>(
    trace: &Trace<S>,
    peak: u64,
) -> Result<Vec<(usize, crate::answer::Amount)>, GoTraceError> {
    let mut goroutines = Goroutines::default();
    let mut objects = ObjectTable::new(trace);
    let ended = trace.for_each(|event| {
        let meaning = event.meaning();
        goroutines.event(trace, event, &meaning);
        objects.event(trace, event, &meaning, 0, goroutines.site(event.lane));
        if objects.events() >= peak { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    ended?;
    Ok(objects.held())
}

#[cfg(test)]
mod tests;
