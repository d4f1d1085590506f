//! Rewrites a native trace with fewer blocks or with other names.

use std::io::Write;

use anyhow::Result;
use heapscribe_analyze::input::History;
use heapscribe_analyze::{Recording, extent};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::{
    ChunkInfo, HeapInfo, HeapSample, Process, ProcessEnd, ProcessIndex, ProcessInfo, RealTimeRules, Scratch,
    SessionEnd, SessionInfo, Source, Trace,
};
use heapscribe_wire::definitions::{DEFINITION_BYTES_MAX, Definition, Function, Module, Position};
use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Event, Events};

use super::changes::{Changes, RATE};
use super::live_tables;
use super::thin::{EventAt, RetainedTicks, Thin};
use super::thread_chunk::encode;
use super::trace_output::TraceOutput;

/// Checks that a trace has all that a smaller one is to be made of.
///
/// # Errors
/// When its oldest events are missing, and are in the part; when it is a snapshot, which has no events.
pub fn check_thin<S: Source + Sync>(trace: &Trace<S>, thin: &Thin) -> Result<(), Problem> {
    live_tables::check(trace, thin, extent(&Recording::new(trace)).begin_ns)
}

/// Rewrites a trace. Gives what could not be read, in words.
pub fn rewrite<S: Source + Sync, W: Write>(
    trace: &Trace<S>,
    out: W,
    changes: &Changes<'_>,
) -> Result<Vec<String>> {
    let problems = trace.problems().iter().map(ToString::to_string).collect();
    let mut to = Rewrite { trace, to: TraceOutput::new(out), changes, problems };
    let session = to.session(trace.session().cloned().unwrap_or_default());
    to.to.writer.start(&session, &mut to.to.bytes);
    let mut processes = Vec::new();
    for process in trace.processes() {
        let info = to.process_info(process.info.clone().unwrap_or_default());
        let index = to.to.writer.process(&info, &mut to.to.bytes);
        to.definitions(process, index)?;
        processes.push((process.index, index));
        to.to.flush()?;
    }
    let recording = Recording::new(trace);
    let begin_ns = extent(&recording).begin_ns;
    live_tables::evicted(None, trace.evicted(), changes, &mut to.to);
    for (((old, new), facts), process) in processes.iter().zip(recording.processes()).zip(trace.processes()) {
        let retained = |thin: &Thin| thin.retained_ticks(&facts.clock, begin_ns);
        let retained = changes.thin.map_or(RetainedTicks::ALL, retained);
        to.events(*old, *new, retained)?;
        live_tables::evicted(Some(*new), &process.evicted, changes, &mut to.to);
        let problems = live_tables::tables(trace, process, *new, (changes, retained), &mut to.to)?;
        to.problems.extend(problems);
    }
    for ((_, index), process) in processes.iter().zip(trace.processes()) {
        let mut samples = Vec::new();
        let skipped = trace.memory(process.index, &mut Scratch::default(), |sample| samples.push(*sample))?;
        to.problems.extend(skipped.iter().map(ToString::to_string));
        to.to.writer.memory(*index, &samples, &mut to.to.bytes);
        to.heap(process.index, *index)?;
        let mut samples = Vec::new();
        let skipped =
            trace.resident(process.index, &mut Scratch::default(), |sample| samples.push(sample.clone()))?;
        to.problems.extend(skipped.iter().map(ToString::to_string));
        to.to.writer.resident(*index, &samples, &mut to.to.bytes);
        if let Some(end) = &process.end {
            // The peak that it was seen to have is of all its blocks.
            let peak = end.peak.filter(|_| changes.thin.is_none());
            to.to.writer.process_end(*index, &ProcessEnd { peak, ..end.clone() }, &mut to.to.bytes);
        }
    }
    to.symbols()?;
    if let Some(end) = trace.session_end() {
        let end = to.session_end(end.clone());
        to.to.writer.session_end(&end, &mut to.to.bytes);
    }
    to.to.finish()?;
    Ok(to.problems)
}

struct Rewrite<'t, S, W> {
    trace: &'t Trace<S>,
    to: TraceOutput<W>,
    changes: &'t Changes<'t>,
    problems: Vec<String>,
}

impl<S: Source, W: Write> Rewrite<'_, S, W> {
    fn name(&self, name: &[u8]) -> Vec<u8> {
        self.changes.renamed(name)
    }

    fn names(&self, names: &[Vec<u8>]) -> Vec<Vec<u8>> {
        names.iter().map(|name| self.name(name)).collect()
    }

    fn session(&self, info: SessionInfo) -> SessionInfo {
        let host = String::from_utf8_lossy(&self.name(info.host.as_bytes())).into_owned();
        let rules = RealTimeRules {
            sections: self.names(&info.rules.sections),
            after_mark: info.rules.after_mark.as_deref().map(|mark| self.name(mark)),
            threads: self.names(&info.rules.threads),
        };
        SessionInfo { command: self.names(&info.command), host, rules, ..info }
    }

    fn session_end(&self, mut end: SessionEnd) -> SessionEnd {
        for program in &mut end.unrecorded.programs {
            program.name = self.name(&program.name);
        }
        end
    }

    fn process_info(&self, info: ProcessInfo) -> ProcessInfo {
        ProcessInfo { exe: self.name(&info.exe), command: self.names(&info.command), ..info }
    }

    /// Writes the names of addresses, unless names are to be others.
    fn symbols(&mut self) -> Result<()> {
        if self.changes.rename.is_some() {
            return Ok(());
        }
        let mut modules = Vec::new();
        let skipped = self.trace.symbols(&mut Scratch::default(), |module| modules.push(module))?;
        self.problems.extend(skipped.iter().map(ToString::to_string));
        self.to.writer.symbols(&modules, &mut self.to.bytes);
        Ok(())
    }

    /// Writes the statistics of the heap under a process.
    fn heap(&mut self, old: ProcessIndex, new: ProcessIndex) -> Result<()> {
        let mut heap: Option<(HeapInfo, Vec<HeapSample>)> = None;
        let skipped = self.trace.heap(old, &mut Scratch::default(), |info, sample| {
            heap.get_or_insert_with(|| (info.clone(), Vec::new())).1.push(*sample);
        })?;
        self.problems.extend(skipped.iter().map(ToString::to_string));
        if let Some((info, samples)) = heap {
            self.to.writer.heap(new, &info, &samples, &mut self.to.bytes);
        }
        Ok(())
    }

    /// Writes the definitions of a process; where numbers leap because some are missing, they leap here too.
    fn definitions(&mut self, process: &Process, index: ProcessIndex) -> Result<()> {
        let mut pieces = Pieces::default();
        if let Some(thin) = self.changes.thin.filter(|thin| thin.mean_bytes() > 0) {
            pieces.put(None, &Definition::Rate { id: RATE, mean_bytes: thin.mean_bytes() });
        }
        let (changes, trace) = (self.changes, self.trace);
        let skipped = trace.definitions(process.index, &mut Scratch::default(), |id, definition| {
            let rename = |name: &[u8]| changes.renamed(name);
            match *definition {
                Definition::Rate { .. } if changes.thin.is_some_and(|thin| thin.mean_bytes() > 0) => {}
                Definition::Thread { id: thread, tid, born_ticks, name } => {
                    let name = &rename(name);
                    pieces.put(None, &Definition::Thread { id: thread, tid, born_ticks, name });
                }
                Definition::Name { id, name } => {
                    pieces.put(None, &Definition::Name { id, name: &rename(name) });
                }
                Definition::Module(module) => {
                    let name = &rename(module.name);
                    let build_id = if changes.rename.is_some() { &[] } else { module.build_id };
                    pieces.put(None, &Definition::Module(Module { name, build_id, ..module }));
                }
                Definition::Function(function) => {
                    let (name, file) = (&rename(function.name), &rename(function.file));
                    pieces.put(None, &Definition::Function(Function { name, file, ..function }));
                }
                Definition::Node(_) | Definition::Interpreted(_) | Definition::Cut { .. } => {
                    pieces.put(Some(id), definition);
                }
                Definition::Rate { .. }
                | Definition::Code(_)
                | Definition::Interpreter(_)
                | Definition::Unmapped => pieces.put(None, definition),
            }
        })?;
        self.problems.extend(skipped.iter().map(ToString::to_string));
        for (position, bytes) in pieces.done {
            self.to.writer.definitions(index, position, &bytes, &mut self.to.bytes);
        }
        Ok(())
    }

    fn events(&mut self, process: ProcessIndex, index: ProcessIndex, retained: RetainedTicks) -> Result<()> {
        let (mut scratch, mut payload) = (Scratch::default(), Vec::new());
        for entry in self.trace.chunks().iter().filter(|entry| entry.process == process) {
            let chunk = match self.trace.load_chunk(entry, &mut scratch) {
                Ok(chunk) => chunk,
                Err(e) => {
                    self.problems.push(e.to_string());
                    continue;
                }
            };
            let info = chunk.info;
            if let Err(e) = encode(chunk, &mut payload) {
                self.problems.push(e.to_string());
            }
            if let Some(thin) = self.changes.thin {
                payload = thinned(thin, process, retained, &info, &payload);
            }
            if !payload.is_empty() {
                self.to.writer.events(index, &info, &payload, &mut self.to.bytes);
            }
            self.to.flush()?;
        }
        Ok(())
    }
}

/// The events of a chunk that are retained.
fn thinned(
    thin: &Thin,
    process: ProcessIndex,
    retained: RetainedTicks,
    info: &ChunkInfo,
    payload: &[u8],
) -> Vec<u8> {
    let (mut out, mut at) = (Vec::with_capacity(payload.len()), [0; EVENT_BYTES_MAX]);
    let (mut ticks, mut last, mut rate) = (info.begin_ticks, info.begin_ticks, RateId::FULL);
    let mut has_retained = false;
    let mut put = |dt: u64, event: &Event, out: &mut Vec<u8>| {
        let n = event.encode(dt, &mut at);
        out.extend_from_slice(&at[..n]);
    };
    // What comes after bytes that are no event cannot be read; the trace's own sums count that already.
    for (dt, event) in Events::new(payload).map_while(Result::ok) {
        if let Event::Rate { rate: next } = event {
            rate = next;
            if thin.mean_bytes() == 0 {
                put(0, &event, &mut out);
            }
            continue;
        }
        if let Event::Took { .. } = event {
            // Of the event before it, and only where that is retained.
            if std::mem::take(&mut has_retained) {
                put(0, &event, &mut out);
            }
            continue;
        }
        ticks = ticks.wrapping_add(dt);
        let at = EventAt { process: process.0, thread: info.thread, ticks, retained, rate };
        let event = thin.event(at, &event);
        has_retained = event.is_some();
        if let Some(event) = event {
            if out.is_empty() && thin.mean_bytes() > 0 {
                put(0, &Event::Rate { rate: RATE }, &mut out);
            }
            put(ticks.wrapping_sub(last), &event, &mut out);
            last = ticks;
        }
    }
    out
}

/// Encoded definitions, in pieces whose numbers follow each other.
#[derive(Default)]
struct Pieces {
    done: Vec<(Position, Vec<u8>)>,
    position: Position,
}

impl Pieces {
    fn put(&mut self, node: Option<StackId>, definition: &Definition<'_>) {
        let leaps = node.is_some_and(|node| node.0 != self.position.next_node);
        if leaps || self.done.is_empty() {
            if let Some(node) = node {
                self.position = Position { next_node: node.0, last_pc: 0 };
            }
            self.done.push((self.position, Vec::new()));
        }
        let mut at = [0; DEFINITION_BYTES_MAX];
        let n = definition.encode(&mut self.position, &mut at).unwrap_or(0);
        if let Some((_, bytes)) = self.done.last_mut() {
            bytes.extend_from_slice(&at[..n]);
        }
    }
}
