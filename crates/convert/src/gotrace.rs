//! From ours to a trace of Go's: as a program of Go 1.19 would have written it, for `go tool trace` and what
//! else reads that format. A thread becomes a P with one goroutine, which began with the thread's name. An
//! allocation becomes a line of the user's log, with its stack, the function called as its kind and its size
//! as its text. Live bytes become Go's live bytes, written when they are 8 KiB away from the last
//! value, which is as fine as Go has them, and when they are higher than ever: the peak is that of the report.
//!
//! *Lost on the way*: all processes but one; frees, but for the curve; calls that were refused; how long
//! calls took; memory samples; what stands in stacks beyond 1000 frames, and names beyond 1 KiB. Where
//! blocks were sampled the curve is of samples.

use std::collections::HashSet;
use std::io::Write;

use anyhow::Result;
use heapscribe_analyze::events::Scale;
use heapscribe_formats::gotrace::{Attached, FrameOf, Writer, kinds};
use heapscribe_formats::memtrace::{LocationCode, Locations};
use heapscribe_formats::{Process, Scratch, Source, Trace};
use heapscribe_wire::call::Call;
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::Event;

use crate::in_order::{At, InOrder};
use crate::live_level::LiveLevel;
use crate::stacks::Stacks;
use heapscribe_symbols::Resolver;

/// Ticks of what we write are ns.
const TICKS_PER_SECOND: u64 = 1_000_000_000;
/// Live bytes are written when they have changed by this much, as when Go takes a span.
const STEP_BYTES: u64 = 8 << 10;
/// How often a goroutine changed its state when it is made: it begins with the next one.
const CREATED: u64 = 1;
/// Stacks of threads' names have numbers from here on, beyond all of ours.
const THREAD_STACKS: u64 = 1 << 32;

/// What is wrong with a Go trace, in words.
pub fn go_problems<S: Source>(trace: &heapscribe_formats::gotrace::Trace<S>) -> Vec<String> {
    let mut problems: Vec<_> = trace.problems().iter().map(ToString::to_string).collect();
    if trace.problems_more() != 0 {
        problems.push(format!("{} more like these", trace.problems_more()));
    }
    problems
}

/// Converts a process of a trace. Gives what is not whole, in words.
pub fn convert<S: Source, W: Write>(
    trace: &Trace<S>,
    process: &Process,
    resolver: &Resolver,
    out: W,
) -> Result<Vec<String>> {
    let mut problems: Vec<_> = trace.problems().iter().map(ToString::to_string).collect();
    let (mut stacks, mut threads) = (Stacks::default(), Vec::new());
    let mut is_sampled = false;
    let skipped = trace.definitions(process.index, &mut Scratch::default(), |id, definition| {
        is_sampled |= matches!(definition, Definition::Rate { .. });
        if let Definition::Thread { id, name, .. } = definition {
            threads.push((id.0, name.to_vec()));
        }
        stacks.take(id, definition);
    })?;
    problems.extend(skipped.iter().map(ToString::to_string));
    if is_sampled {
        problems.push("the file contains only the sampled blocks, and cannot mark them as such".to_owned());
    }
    let mut locations = Locations::default();
    stacks.name_new(&mut locations, |requests| resolver.resolve(requests));
    let mut to = Conversion {
        writer: Writer::create(out)?,
        stacks,
        locations,
        written: HashSet::new(),
        level: LiveLevel::default(),
        last: (0, 1),
        ended_bytes: 0,
        written_bytes: 0,
        highest_bytes: 0,
        lowest_bytes: 0,
        lost: 0,
        end_ticks: 0,
    };
    to.begin(trace, process, &threads)?;
    let mut order = InOrder::new(trace, process);
    while let Some((at, event)) = order.next(trace) {
        to.event(at, &event)?;
    }
    problems.extend(order.problems);
    problems.extend(to.finish()?);
    Ok(problems)
}

struct Conversion<W> {
    writer: Writer<W>,
    stacks: Stacks,
    locations: Locations,
    /// Stacks that are in the file.
    written: HashSet<StackId>,
    level: LiveLevel,
    /// The P and ticks of the last event.
    last: (u64, u64),
    /// Live bytes at the last moment that has ended.
    ended_bytes: i64,
    /// Live bytes when they were written last.
    written_bytes: i64,
    /// The most that was written.
    highest_bytes: i64,
    /// The least that was live, at most 0.
    lowest_bytes: i64,
    lost: u64,
    end_ticks: u64,
}

/// An allocation, as a line of the user's log has it.
#[derive(Clone, Copy)]
struct Allocation {
    call: Call,
    size_bytes: u64,
    stack: StackId,
}

/// The P of a thread; threads are numbered from 1 on.
fn p(thread: u32) -> u64 {
    u64::from(thread).saturating_sub(1)
}

impl<W: Write> Conversion<W> {
    /// Starts a P and a goroutine for each thread. Go's tools want each goroutine made, and then started
    /// where it runs; those of the first P have no creator, like those that exist when Go's tracer
    /// starts.
    fn begin<S: Source>(
        &mut self,
        trace: &Trace<S>,
        process: &Process,
        named: &[(u32, Vec<u8>)],
    ) -> Result<()> {
        let chunks = trace.chunks().iter().filter(|chunk| chunk.process == process.index);
        let mut threads: Vec<u32> = chunks.map(|chunk| chunk.info.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let first = threads.first().map_or(0, |thread| p(*thread));
        for thread in &threads {
            let name = named.iter().rev().find(|(id, name)| id == thread && !name.is_empty());
            let name = name.map_or_else(|| format!("thread {thread}").into_bytes(), |(_, name)| name.clone());
            let stack = THREAD_STACKS + u64::from(*thread);
            let function = self.writer.text(&name)?;
            let file = self.writer.text(b"")?;
            self.writer.stack(stack, &[FrameOf { pc: u64::from(*thread), function, file, line: 0 }])?;
            self.writer.event(
                first,
                0,
                kinds::GO_CREATE,
                &[u64::from(*thread), stack],
                Attached::default(),
            )?;
        }
        for thread in &threads {
            self.writer.event(
                p(*thread),
                1,
                kinds::PROC_START,
                &[u64::from(*thread)],
                Attached::default(),
            )?;
            self.writer.event(
                p(*thread),
                1,
                kinds::GO_START,
                &[u64::from(*thread), CREATED],
                Attached::default(),
            )?;
        }
        Ok(self.writer.event(first, 1, kinds::PROCS, &[threads.len() as u64], Attached::default())?)
    }

    fn event(&mut self, at: At, event: &Event) -> Result<()> {
        // The first moment is that of the goroutines' begin.
        let ticks = at.ns.saturating_add(1);
        if event.is_pool() {
            return Ok(()); // within blocks of the heap
        }
        self.end_ticks = self.end_ticks.max(ticks);
        if let Some(moment) = self.level.event(at, event) {
            let falls = Scale::new(at.thread).changes(event, at.ticks).net_bytes() < 0;
            self.ended(moment.bytes, falls)?;
        }
        self.last = (p(at.thread), ticks);
        match *event {
            Event::Alloc { call, size_bytes, stack, .. }
            | Event::UnknownRealloc { call, size_bytes, stack, .. }
            | Event::Realloc { call, size_bytes, stack, .. } => {
                self.allocated(at, ticks, Allocation { call, size_bytes, stack })
            }
            Event::Lost { count, .. } => {
                self.lost = self.lost.saturating_add(count);
                Ok(())
            }
            Event::Free { .. }
            | Event::Failed { .. }
            | Event::UnknownFree { .. }
            | Event::Rate { .. }
            | Event::Took { .. }
            | Event::Note { .. }
            | Event::Mapping(_) => Ok(()),
        }
    }

    /// So much was live until now, when it changes.
    fn ended(&mut self, bytes: i64, falls: bool) -> Result<()> {
        let (p, ticks) = self.last;
        let before_bytes = std::mem::replace(&mut self.ended_bytes, bytes);
        if before_bytes > bytes.max(self.highest_bytes) {
            // The moment began with an allocation, and what it freed was another thread's of the same moment or later.
            self.write_live(p, ticks, before_bytes)?;
        }
        self.lowest_bytes = self.lowest_bytes.min(bytes);
        let is_top = falls && bytes > self.highest_bytes;
        if is_top || bytes.abs_diff(self.written_bytes) >= STEP_BYTES {
            self.write_live(p, ticks, bytes)?;
        }
        Ok(())
    }

    fn allocated(&mut self, at: At, ticks: u64, allocation: Allocation) -> Result<()> {
        let Allocation { call, size_bytes, stack } = allocation;
        let number = self.stack(stack)?;
        let kind = self.writer.text(call.name().as_bytes())?;
        let text = format!("{size_bytes} bytes");
        let values = [0, kind.number()];
        Ok(self.writer.event(
            p(at.thread),
            ticks,
            kinds::LOG,
            &values,
            Attached { stack: number, text: text.as_bytes() },
        )?)
    }

    fn write_live(&mut self, p: u64, ticks: u64, bytes: i64) -> Result<()> {
        (self.written_bytes, self.highest_bytes) = (bytes, self.highest_bytes.max(bytes));
        let values = [bytes.max(0).unsigned_abs()];
        Ok(self.writer.event(p, ticks, kinds::HEAP_LIVE, &values, Attached::default())?)
    }

    /// The number of a stack, which is written when it is met first, its texts before it.
    fn stack(&mut self, stack: StackId) -> Result<u64> {
        if stack == StackId::UNKNOWN || !self.written.insert(stack) {
            return Ok(u64::from(stack.0));
        }
        let mut codes = Vec::new();
        self.stacks.codes(stack, &mut codes);
        let mut frames = Vec::new();
        for code in codes.iter().rev() {
            self.frames(*code, &mut frames)?;
        }
        self.writer.stack(u64::from(stack.0), &frames)?;
        Ok(u64::from(stack.0))
    }

    /// The frames of a code, innermost first: those that were inlined have its address too.
    fn frames(&mut self, code: LocationCode, frames: &mut Vec<FrameOf>) -> Result<()> {
        let pc = code.0 as u64;
        let places = self.locations.get(code).unwrap_or_default();
        if places.is_empty() {
            let (function, file) = (self.writer.text(format!("{pc:#x}").as_bytes())?, self.writer.text(b"")?);
            frames.push(FrameOf { pc, function, file, line: 0 });
        }
        for place in places.iter().rev() {
            let function = self.writer.text(self.locations.text(place.function))?;
            let file = self.writer.text(self.locations.text(place.file))?;
            frames.push(FrameOf { pc, function, file, line: place.line.into() });
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        let left_bytes = self.level.end_moment().bytes;
        self.ended(left_bytes, true)?;
        if self.lowest_bytes < 0 {
            problems.push(format!(
                "bytes freed without an allocation in the trace, where the curve is too low: {}",
                self.lowest_bytes.unsigned_abs()
            ));
        }
        if self.lost != 0 {
            problems.push(format!("events missing: {}", self.lost));
        }
        self.write_live(0, self.end_ticks.max(1), left_bytes)?;
        self.writer.finish(TICKS_PER_SECOND)?;
        Ok(problems)
    }
}
