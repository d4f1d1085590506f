//! The report of a Go trace: the heap over time and what the collector did.

use std::io;

use heapscribe_analyze::go::{Collection, GoAnswer, Work};

use crate::text::chart::{self, Column};
use crate::text::{Out, heading};
use heapscribe_units::{bytes, count, counted, duration, percent, short_bytes};

/// What is to be printed.
pub struct GoReport<'a> {
    /// The answer.
    pub answer: &'a GoAnswer,
    /// Entries of each list.
    pub top: usize,
    /// The trace's path, for the commands to type next.
    pub trace: &'a str,
    /// What is wrong with the trace.
    pub problems: &'a [String],
    /// Columns of a line.
    pub width: usize,
}

impl GoReport<'_> {
    /// Prints all of it.
    pub fn print(&self, out: Out<'_>) -> io::Result<()> {
        self.header(out)?;
        self.heap(out)?;
        self.curve(out)?;
        self.collections(out)?;
        self.stops(out)?;
        self.work(out)?;
        if let Some(objects) = &self.answer.objects {
            self.objects(out, objects)?;
        }
        self.missing(out)?;
        self.next(out)
    }

    /// A length of time, in ticks where their length is not known.
    pub(super) fn time(&self, ns: u64) -> String {
        if self.answer.has_clock { duration(ns) } else { counted(ns, "tick") }
    }

    fn header(&self, out: Out<'_>) -> io::Result<()> {
        let a = self.answer;
        let procs = if a.procs == 0 { String::new() } else { format!(", GOMAXPROCS {}", a.procs) };
        writeln!(out, "Heap of a Go program: {} trace, {}{procs}.", a.version, self.time(a.duration_ns))?;
        let generations = counted(a.generations, "generation");
        writeln!(out, "It contains {} in {generations}.", counted(a.events, "event"))
    }

    fn heap(&self, out: Out<'_>) -> io::Result<()> {
        let curve = &self.answer.curve;
        heading(out, "Live bytes")?;
        if curve.changes == 0 {
            return writeln!(out, "  Not in the trace.");
        }
        writeln!(out, "  Start: {}.", bytes(curve.first.bytes))?;
        writeln!(out, "  Peak:  {}, {} after the start.", bytes(curve.peak.bytes), self.time(curve.peak.ns))?;
        writeln!(out, "  End:   {}.", bytes(curve.last.bytes))?;
        if curve.goal_bytes != 0 {
            writeln!(out, "  Goal of the next collection: {}.", bytes(curve.goal_bytes))?;
        }
        writeln!(out, "  Go counts whole spans, so the real figures may be lower.")
    }

    fn curve(&self, out: Out<'_>) -> io::Result<()> {
        let curve = &self.answer.curve;
        let steps = curve.steps.iter();
        let column = |step: &heapscribe_analyze::go::CurveStep| Column {
            area: step.live_max_bytes,
            line: step.goal_bytes,
        };
        let end = self.time(self.answer.duration_ns);
        chart::picture(
            out,
            "Live bytes (#) and goal (o) over time",
            steps.map(column),
            ["0 s", &end],
            chart::ROWS,
            self.width,
        )
        .map(drop)
    }

    fn collections(&self, out: Out<'_>) -> io::Result<()> {
        let all = &self.answer.collections;
        heading(out, "Collections")?;
        if all.work.count == 0 && all.partial == 0 {
            return writeln!(out, "  None.");
        }
        writeln!(out, "  Complete: {}", self.sum(&all.work))?;
        if all.partial != 0 {
            writeln!(out, "  Partly in the trace: {}.", count(all.partial))?;
        }
        for collection in all.list.iter().take(self.top) {
            self.collection(out, collection)?;
        }
        match all.work.count.saturating_sub(self.top as u64) {
            0 => Ok(()),
            more => writeln!(out, "  and {more} more (--top)"),
        }
    }

    fn collection(&self, out: Out<'_>, of: &Collection) -> io::Result<()> {
        let took = self.time(of.end_ns.saturating_sub(of.begin_ns));
        let [before, after, goal] = [of.before_bytes, of.after_bytes, of.goal_bytes].map(short_bytes);
        let begin = self.time(of.begin_ns);
        writeln!(out, "  {begin:>9}  took {took:>9}  {before:>9} -> {after:>9}, goal {goal:>9}")
    }

    fn stops(&self, out: Out<'_>) -> io::Result<()> {
        heading(out, "Stop-the-world pauses")?;
        if self.answer.stops.is_empty() {
            return writeln!(out, "  None.");
        }
        for stop in self.answer.stops.iter().take(self.top) {
            writeln!(out, "  {}: {}", stop.reason, self.sum(&stop.work))?;
        }
        Ok(())
    }

    fn work(&self, out: Out<'_>) -> io::Result<()> {
        let a = self.answer;
        heading(out, "Sweeping and mark assists")?;
        writeln!(out, "  Sweeps: {}", self.sum(&a.sweeps))?;
        if a.sweeps.count != 0 {
            let share = percent(a.reclaimed_bytes, a.swept_bytes);
            let [swept, given] = [a.swept_bytes, a.reclaimed_bytes].map(short_bytes);
            writeln!(out, "  Swept {swept}, freed {given} ({share}).")?;
        }
        writeln!(out, "  Mark assists: {}", self.sum(&a.assists))
    }

    /// `14, 1.2 ms in all, the longest 300 us at 20 ms.`
    fn sum(&self, work: &Work) -> String {
        if work.count == 0 {
            return "none.".to_owned();
        }
        let (all, total, longest) = (count(work.count), self.time(work.total_ns), self.time(work.longest_ns));
        format!("{all}, {total} in total, the longest {longest} at {}.", self.time(work.longest_at_ns))
    }

    fn missing(&self, out: Out<'_>) -> io::Result<()> {
        let a = self.answer;
        heading(out, "What is missing")?;
        if !a.has_clock {
            writeln!(out, "  The length of a tick: times are in ticks of the processor's clock.")?;
        }
        if a.objects.is_none() {
            writeln!(
                out,
                "  Objects and who allocates them: this needs a program built with Go 1.23 or later,"
            )?;
            writeln!(out, "  run with GODEBUG=traceallocfree=1.")?;
        } else {
            writeln!(out, "  The stacks of allocations: Go's tracer does not record them.")?;
        }
        for problem in self.problems {
            writeln!(out, "  {problem}.")?;
        }
        Ok(())
    }

    fn next(&self, out: Out<'_>) -> io::Result<()> {
        heading(out, "Next")?;
        if self.answer.objects.is_some() {
            writeln!(out, "  heapscribe flame {} -o objects.svg --metric allocated", self.trace)?;
        }
        writeln!(out, "  heapscribe dump {} --style go-heap", self.trace)?;
        writeln!(out, "  heapscribe report {} --json", self.trace)
    }
}
