//! The heap over time as counters, marks and sections as events: for Perfetto and `chrome://tracing`, beside the
//! program's own trace.
//!
//! Processes and threads have the kernel's numbers, so that tracks of another trace of the same run are theirs. Times are
//! microseconds since the start of the recording.

use std::io::{self, Write};

use heapscribe_analyze::answer::{Answer, Step};
use heapscribe_analyze::moments::{NoteKind, NoteMoment};
use heapscribe_symbols::lossy;
use serde_json::{Value, json};

use crate::text::tables::{estimated, program};

/// The process that the counters of all processes together hang on; no process of Linux has this number.
const ALL: u32 = 0;

/// A mark or an end of a section, with its name.
pub struct NamedNote {
    /// The name.
    pub name: Vec<u8>,
    /// What and when.
    pub moment: NoteMoment,
}

/// Writes an answer's heap over time, and these notes.
///
/// # Errors
/// Those of the writer.
pub fn write(answer: &Answer, notes: &[NamedNote], out: &mut dyn Write) -> io::Result<()> {
    let all = names(answer).chain(counters(answer)).chain(notes.iter().map(|note| event(answer, note)));
    write!(out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    for (number, event) in all.enumerate() {
        let before = if number == 0 { "\n" } else { ",\n" };
        write!(out, "{before}{event}")?;
    }
    writeln!(out, "\n]}}")
}

/// What processes and threads are called.
fn names(answer: &Answer) -> impl Iterator<Item = Value> {
    let meta = |kind: &str, pid: u32, tid: u32, name: String| json!({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}});
    let all = meta("process_name", ALL, 0, estimated(answer, "Heap of all processes"));
    let processes = answer
        .processes
        .iter()
        .map(move |process| meta("process_name", process.pid, process.pid, program(process)));
    let threads = answer.threads.iter().filter_map(move |thread| {
        let pid = answer.processes.get(thread.process)?.pid;
        (thread.tid != 0).then(|| meta("thread_name", pid, thread.tid, lossy(&thread.name)))
    });
    std::iter::once(all).chain(processes).chain(threads)
}

/// A counter: its name, its unit and its value in a step.
type Counter = (&'static str, &'static str, fn(&Step) -> u64);

/// The heap at the end of each step, and what is resident; a counter stays until its next event.
fn counters(answer: &Answer) -> impl Iterator<Item = Value> {
    let timeline = &answer.timeline;
    let series: [Counter; 5] = [
        ("heap", "live bytes", |step| step.heap_end_bytes),
        ("heap, highest", "live bytes", |step| step.heap_max_bytes),
        ("resident", "bytes", |step| step.rss_bytes),
        ("allocated per step", "bytes", |step| step.allocated_bytes),
        ("allocations per step", "blocks", |step| step.allocations),
    ];
    let known = series.into_iter().filter(|(.., of)| timeline.steps.iter().any(|step| of(step) > 0));
    known.flat_map(move |(name, unit, of)| {
        let mut last = None;
        let changes = timeline.steps.iter().enumerate();
        let changes = changes.filter(move |(_, step)| last.replace(of(step)) != Some(of(step)));
        changes.map(move |(number, step)| {
            // What is of a whole step stands at its begin, what is of its end there.
            let at_end = u64::from(name == "heap" || name == "resident");
            let ns = timeline.step_ns.saturating_mul(number as u64 + at_end);
            let ts = microseconds(timeline.begin_ns.saturating_add(ns));
            json!({"ph": "C", "name": name, "pid": ALL, "tid": 0, "ts": ts, "args": {unit: of(step)}})
        })
    })
}

fn event(answer: &Answer, note: &NamedNote) -> Value {
    let moment = &note.moment;
    let pid = answer.processes.get(moment.process).map_or(ALL, |process| process.pid);
    let is_thread = |thread: &&_| thread_key(thread) == (moment.process, moment.thread);
    let tid = answer.threads.iter().find(is_thread).map_or(moment.thread, |thread| thread.tid);
    let ts = microseconds(moment.ns.saturating_sub(answer.begin_mono_ns));
    let name = lossy(&note.name);
    match moment.kind {
        NoteKind::Mark => json!({"ph": "i", "s": "p", "name": name, "pid": pid, "tid": tid, "ts": ts}),
        NoteKind::Begin => json!({"ph": "B", "name": name, "pid": pid, "tid": tid, "ts": ts}),
        NoteKind::End => json!({"ph": "E", "name": name, "pid": pid, "tid": tid, "ts": ts}),
    }
}

fn thread_key(thread: &heapscribe_analyze::answer::Thread) -> (usize, u32) {
    (thread.process, thread.id)
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
