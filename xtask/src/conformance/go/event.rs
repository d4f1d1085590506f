//! Events of a trace of Go's as plain data, to be compared with what Go's own reader prints.

use std::ops::ControlFlow;

use heapscribe_formats::gotrace::Trace;

/// An event as plain data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Event {
    pub(super) offset: u64,
    pub(super) ticks: u64,
    pub(super) ns: u64,
    pub(super) lane: u64,
    pub(super) name: &'static str,
    /// Name and value, the stack too.
    pub(super) values: Vec<(&'static str, u64)>,
}

pub(super) fn events(trace: &Trace<&[u8]>) -> Result<Vec<Event>, String> {
    let mut all = Vec::new();
    let read = trace.for_each(|event| {
        let mut values: Vec<_> =
            event.spec.values.iter().copied().zip(event.values.iter().copied()).collect();
        values.extend((event.stack != 0).then_some(("stack", event.stack)));
        all.push(Event {
            offset: event.offset,
            ticks: event.ticks,
            ns: trace.ns(event.ticks),
            lane: event.lane,
            name: event.spec.name,
            values,
        });
        ControlFlow::<()>::Continue(())
    });
    read.map_err(|e| e.to_string())?;
    Ok(all)
}

pub(super) fn open_whole(bytes: &[u8]) -> Result<Trace<&[u8]>, String> {
    let trace = Trace::open(bytes).map_err(|e| e.to_string())?;
    match trace.problems().first() {
        None => Ok(trace),
        Some(problem) => Err(problem.to_string()),
    }
}

/// What Go's reader calls events that only tell it how to order others, and what it renamed later.
pub(super) fn plain_name(name: &str) -> &str {
    match name {
        "GCSTWStart" => "STWStart",
        "GCSTWDone" => "STWDone",
        name => name.strip_suffix("Local").unwrap_or(name),
    }
}
