//! `heapscribe dump`: prints every event of a trace as a line of text or a JSON object, in the order of the
//! file, with one chunk in memory at a time.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_analyze::input::Chosen;
use heapscribe_formats::heaplog::Style;
use heapscribe_formats::model::SessionInfo;
use heapscribe_formats::{ChunkEntry, LiveTable, Process, Scratch, Source, Trace};
use heapscribe_wire::record::{Event, Note};

use super::{dump_go, dump_memtrace, dump_messages, partial};
use crate::cli::{DumpArgs, DumpStyle, reject_parts};
use crate::message;
use heapscribe_convert::heaplog;
use heapscribe_convert::one_process::{self, OneProcess};
use heapscribe_convert::{Input, Kind};
use heapscribe_formats::detect::Format;
use heapscribe_views::dump::lines::Lines;
use heapscribe_views::dump::objects::Objects;
use heapscribe_views::dump::{Moment, Printer, Rates, Standing};

/// Runs the command.
pub(crate) fn run(args: &DumpArgs) -> Result<ExitCode> {
    let input = Input::open(&args.trace)?;
    if input.kind() == Kind::AosPart {
        return dump_messages::run(args);
    }
    reject_parts(&args.trace, &args.messages.more)?;
    match args.style {
        DumpStyle::Memtrace => return dump_memtrace::run(args, input),
        DumpStyle::GoHeap | DumpStyle::GoStacks => return dump_go::run(args, input),
        DumpStyle::Heaphook => return dump_log(args, input, Style::Commas),
        DumpStyle::Heaphook01 => return dump_log(args, input, Style::Spaces),
        DumpStyle::Native if input.kind() == Kind::File(Format::Go) => return dump_go::run(args, input),
        DumpStyle::Native => {}
    }
    let trace = input.into_trace(args.salvage.into())?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let choice = args.choice.choice();
    let chosen = match choice.is_all() {
        true => None,
        false => Some(trace.chosen(&choice)?),
    };
    let mut problems = if args.json {
        print(args, &*trace, chosen.as_ref(), &mut Objects { out: &mut out, rates: Rates::default() })?
    } else {
        print(args, &*trace, chosen.as_ref(), &mut Lines { out: &mut out, rates: Rates::default() })?
    };
    out.flush()?;
    problems.extend_from_slice(&trace.problems);
    Ok(partial::exit_code(&args.trace, &problems, trace.is_complete()))
}

/// Prints a trace as heaphook would have logged it.
fn dump_log(args: &DumpArgs, input: Input, style: Style) -> Result<ExitCode> {
    let trace = input.into_trace(args.salvage.into())?;
    let mut problems = trace.problems.clone();
    let out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let asked = OneProcess {
        pid: args.choice.pid.first().copied(),
        program: args.choice.process.first().map(String::as_str),
    };
    let (process, left_out) = one_process::choose(&trace, asked)?;
    if let Some(left_out) = left_out {
        message::note(&left_out);
    }
    problems.extend(heaplog::to::convert(&trace, process, style, out)?);
    Ok(partial::exit_code(&args.trace, &problems, trace.is_complete()))
}

/// Prints a trace, or the events of some threads and all of their processes; returns what could not be read.
fn print<S: Source>(
    args: &DumpArgs,
    trace: &Trace<S>,
    chosen: Option<&Chosen>,
    printer: &mut dyn Printer,
) -> Result<Vec<String>> {
    let number = |index| trace.processes().iter().position(|process| process.index == index);
    let is_chosen = |process: &&Process| {
        chosen.is_none_or(|chosen| chosen.processes.iter().any(|(n, _)| Some(*n) == number(process.index)))
    };
    let has_events = |entry: &&ChunkEntry| {
        chosen.is_none_or(|chosen| number(entry.process).is_some_and(|n| chosen.has(n, entry.info.thread)))
    };
    let mut dump = Dump {
        trace,
        printer,
        has_stacks: !args.no_stacks,
        scratch: Scratch::default(),
        problems: trace.problems().iter().map(ToString::to_string).collect(),
    };
    if let Some(info) = trace.session() {
        let begin_real_ns = trace.start_real_ns(); // of moment 0, which is not when `record` began
        dump.printer.session(&SessionInfo { started_real_ns: begin_real_ns, ..info.clone() })?;
    }
    for process in trace.processes().iter().filter(is_chosen) {
        dump.process(process)?;
    }
    for entry in trace.chunks().iter().filter(has_events) {
        dump.chunk(entry)?;
    }
    for process in trace.processes().iter().filter(is_chosen) {
        process.live.iter().try_for_each(|table| dump.live(process, table))?;
        dump.process_end(process)?;
    }
    if let Some(end) = trace.session_end() {
        dump.printer.session_end(end)?;
    }
    Ok(dump.problems)
}

struct Dump<'a, S> {
    trace: &'a Trace<S>,
    printer: &'a mut dyn Printer,
    /// Whether the frames of stacks are printed.
    has_stacks: bool,
    scratch: Scratch,
    problems: Vec<String>,
}

/// Prints until the first write error; visiting a trace cannot be stopped half-way.
struct Until {
    result: io::Result<()>,
}

impl Until {
    fn new() -> Until {
        Until { result: Ok(()) }
    }

    fn then(&mut self, print: impl FnOnce() -> io::Result<()>) {
        if self.result.is_ok() {
            self.result = print();
        }
    }
}

impl<S: Source> Dump<'_, S> {
    fn process(&mut self, process: &Process) -> Result<()> {
        self.printer.process(process)?;
        let mut until = Until::new();
        let index = process.index;
        let skipped = self.trace.definitions(index, &mut self.scratch, |node, definition| {
            let is_frame = definition.is_node();
            if self.has_stacks || !is_frame {
                until.then(|| self.printer.definition(index.0, node, definition));
            }
        })?;
        self.problems.extend(skipped.iter().map(ToString::to_string));
        Ok(until.result?)
    }

    /// Skips the unreadable rest of a chunk.
    fn chunk(&mut self, entry: &ChunkEntry) -> Result<()> {
        let mut until = Until::new();
        let (clock, printer) = (self.trace.clock(entry.process), &mut *self.printer);
        let mut print = |(ticks, event, took_ns): &(u64, Event, Option<u64>)| {
            let moment = Moment {
                time_ns: clock.time_ns(&entry.info, *ticks),
                process: entry.process.0,
                thread: entry.info.thread,
                event,
                age_ns: clock.age_at_ns(&entry.info, *ticks, age_ticks(event)),
                took_ns: *took_ns,
            };
            until.then(|| printer.event(&moment));
        };
        // Each event is held back until the next one: the latency of a call follows its event.
        let mut held = None;
        let outcome = self.trace.load_chunk(entry, &mut self.scratch).and_then(|chunk| {
            chunk.for_each(|ticks, event| match (event, &mut held) {
                (Event::Took { units }, Some((_, _, took))) => {
                    *took = Some(clock.units_ns(*units).round() as u64);
                }
                (Event::Took { .. }, None) => {}
                _ => held.replace((ticks, *event, None)).iter().for_each(&mut print),
            })
        });
        held.iter().for_each(&mut print);
        if let Err(e) = outcome {
            self.problems.push(e.to_string());
        }
        Ok(until.result?)
    }

    fn live(&mut self, process: &Process, table: &LiveTable) -> Result<()> {
        let (index, clock) = (process.index, self.trace.clock(process.index));
        let now_ns = table.mono_ns.saturating_sub(self.trace.start_mono_ns());
        self.printer.live(index.0, now_ns, table)?;
        let mut until = Until::new();
        let skipped = self.trace.blocks(index, table, &mut self.scratch, |block| {
            let age_ns = clock.age_ns(table.ticks.saturating_sub(block.birth_ticks));
            let time_ns = now_ns.saturating_sub(age_ns);
            until.then(|| self.printer.live_block(&Standing { process: index.0, time_ns, age_ns, block }));
        })?;
        self.problems.extend(skipped.iter().map(ToString::to_string));
        Ok(until.result?)
    }

    fn process_end(&mut self, process: &Process) -> Result<()> {
        let mut until = Until::new();
        let (index, start) = (process.index, self.trace.start_mono_ns());
        let skipped = self.trace.memory(index, &mut self.scratch, |sample| {
            let time_ns = sample.mono_ns.saturating_sub(start);
            until.then(|| self.printer.memory(index.0, time_ns, sample));
        })?;
        self.problems.extend(skipped.iter().map(ToString::to_string));
        let skipped = self.trace.resident(index, &mut self.scratch, |sample| {
            let time_ns = sample.mono_ns.saturating_sub(start);
            until.then(|| self.printer.resident(index.0, time_ns, sample));
        })?;
        self.problems.extend(skipped.iter().map(ToString::to_string));
        let skipped = self.trace.heap(index, &mut self.scratch, |info, sample| {
            let time_ns = sample.mono_ns.saturating_sub(start);
            until.then(|| self.printer.heap(index.0, time_ns, info, &sample.counts));
        })?;
        self.problems.extend(skipped.iter().map(ToString::to_string));
        until.result?;
        for change in process.end.iter().flat_map(|end| &end.modes) {
            self.printer.mode(index.0, change.mono_ns.saturating_sub(start), change.mode)?;
        }
        Ok(self.printer.process_end(process)?)
    }
}

fn age_ticks(event: &Event) -> u64 {
    match event {
        Event::Free { block, .. } | Event::Realloc { old: block, .. } => block.age_ticks,
        Event::Note { note: Note::GoesOn { age_ticks }, .. } => *age_ticks,
        _ => 0,
    }
}
