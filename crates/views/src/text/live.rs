//! The report of a snapshot: what is live, whose it is, and since when.

use std::cmp::Reverse;
use std::io;

use heapscribe_analyze::answer::{Amount, NodeId};
use heapscribe_analyze::snapshot::{LiveStack, Snapshot};
use heapscribe_formats::LiveRole;

use super::bounds::{self, Shown};
use super::stack_list::StackPrinter;
use super::{Out, estimate, heading, losses, program_pools, tables};
use crate::live::Largest;
use crate::losses::{of_cut, of_off};
use heapscribe_symbols::{NamedStacks, lossy};
use heapscribe_units::{bytes, count, counted, date, duration, percent, short_bytes};

/// What is to be printed.
pub struct LiveReport<'a> {
    /// The answer.
    pub snapshot: &'a Snapshot,
    /// Entries of each list.
    pub top: usize,
    /// The file's path, for the commands to type next.
    pub path: &'a str,
    /// Columns of a line.
    pub width: usize,
}

impl LiveReport<'_> {
    /// The stacks that will be printed: only their names need to be looked up.
    pub fn wanted(&self) -> Vec<NodeId> {
        Largest::of(self.snapshot, self.top).nodes().collect()
    }

    /// Prints all of it.
    pub fn print(&self, out: Out<'_>, names: &NamedStacks<'_>) -> io::Result<()> {
        self.header(out)?;
        self.live(out)?;
        let (printer, largest) =
            (&mut StackPrinter::new(names, self.width), Largest::of(self.snapshot, self.top));
        printer.list(out, "Stacks with the most live bytes")?;
        stacks(out, &largest.heap, self.snapshot.live, printer)?;
        self.sizes_and_ages(out)?;
        self.threads(out)?;
        self.pools(out, &largest.pools, printer)?;
        self.missing(out, names)?;
        heading(out, "Next")?;
        writeln!(out, "  heapscribe flame {} -o live.svg", self.path)?;
        if !self.snapshot.process.memory_maps.is_empty() {
            writeln!(out, "  heapscribe report {} --memory", self.path)?;
        }
        writeln!(out, "  heapscribe report {} --json", self.path)
    }

    fn header(&self, out: Out<'_>) -> io::Result<()> {
        let s = self.snapshot;
        let info = s.process.info.clone().unwrap_or_default();
        let command: Vec<_> = info.command.iter().map(|part| lossy(part)).collect();
        writeln!(out, "Live heap of: {}", command.join(" "))?;
        let host = if s.host.is_empty() { String::new() } else { format!(" at {}", s.host) };
        let when = date(s.table.real_ns);
        writeln!(out, "Process {}{host} on {when}, {} after its start.", info.pid, duration(s.age_ns))?;
        if !s.table.name.is_empty() {
            writeln!(out, "Snapshot: {}.", s.table.name)?;
        }
        if let Some(what) = of_cut(s).filter(|_| s.missing_blocks > 0) {
            return writeln!(out, "Not whole: {what}.");
        }
        match (s.table.inexact.as_str(), s.has_ended()) {
            (_, true) => {
                writeln!(
                    out,
                    "The process had ended; this is its last state. Its times end with its last sign of life."
                )
            }
            ("", false) => writeln!(out, "Consistent: all blocks are of one instant."),
            (why, false) => writeln!(out, "Not consistent, the blocks are not of one instant: {why}."),
        }
    }

    fn live(&self, out: Out<'_>) -> io::Result<()> {
        let s = self.snapshot;
        let sure = s.sampling.as_ref().map(|sampling| &sampling.live);
        heading(out, "Live")?;
        if let Some(sampling) = &s.sampling {
            let means: Vec<_> = sampling.mean_bytes.iter().map(|&mean| short_bytes(mean)).collect();
            let samples = counted(sampling.live.samples, "block");
            writeln!(out, "  Sampled every {} on average, {samples} in total.", means.join(" or "))?;
            if sampling.exact_blocks > 0 {
                let exact = counted(sampling.exact_blocks, "block");
                writeln!(out, "  Besides, {exact} recorded without sampling count as what they are.")?;
            }
        }
        let bounds = s.bounds();
        writeln!(out, "  {}.", Shown { seen: s.live, estimate: sure, bounds: bounds.as_ref() }.amount())?;
        if bounds.is_some() {
            let (bytes, blocks) = (bytes(s.live.bytes), counted(s.live.blocks, "block"));
            let what = if s.missing_blocks > 0 { "Read of the table" } else { "Of the table" };
            writeln!(out, "  {what}, and in all lists below: {bytes} in {blocks}.")?;
        }
        if let Some(off) = of_off(s).filter(|_| s.sampling.is_some() && bounds.is_none()) {
            writeln!(out, "  There is no upper end, as {off}.")?;
        }
        let t = &s.table;
        writeln!(
            out,
            "  Recorded so far: {} of {}, {} of {}.",
            counted(t.allocated_blocks, "allocation"),
            bytes(t.allocated_bytes),
            counted(t.freed_blocks, "free"),
            bytes(t.freed_bytes)
        )
    }

    fn sizes_and_ages(&self, out: Out<'_>) -> io::Result<()> {
        let s = self.snapshot;
        let row = |range, blocks, bytes| (range, blocks, bytes);
        let sizes = s.sizes.iter().map(|class| {
            let range = format!("{} to {} bytes", count(class.from_bytes), count(class.to_bytes));
            row(range, class.count, class.bytes)
        });
        tables::classes(out, &self.titled("Sizes of the live blocks"), sizes, s.live.bytes)?;
        let ages = s.ages.iter().map(|class| {
            let range = format!("{} to {}", duration(class.from_ns), duration(class.to_ns));
            row(range, class.count, class.bytes)
        });
        tables::classes(out, &self.titled("Ages of the live blocks"), ages, s.live.bytes)
    }

    fn titled(&self, title: &str) -> String {
        if self.snapshot.sampling.is_some() { format!("{title} (estimated)") } else { title.to_owned() }
    }

    fn threads(&self, out: Out<'_>) -> io::Result<()> {
        let mut threads: Vec<_> = self.snapshot.threads.iter().collect();
        threads.sort_by_key(|thread| (Reverse(thread.live.bytes), thread.id));
        heading(out, &self.titled("Threads by live bytes"))?;
        for thread in threads.iter().take(self.top) {
            let name = lossy(&thread.name);
            let who = if name.is_empty() { "unnamed".to_owned() } else { name };
            let (bytes, blocks) = (bytes(thread.live.bytes), counted(thread.live.blocks, "block"));
            writeln!(out, "  {who} (thread {}): {bytes} in {blocks}", thread.tid)?;
        }
        tables::more(out, threads.len(), self.top, "thread")
    }

    fn pools(&self, out: Out<'_>, largest: &[&LiveStack], printer: &mut StackPrinter<'_>) -> io::Result<()> {
        let (s, pools) = (self.snapshot, self.snapshot.pools);
        if pools.blocks == 0 {
            return Ok(());
        }
        printer.list(out, program_pools::HEADING)?;
        let (estimate, bounds) = (s.pools_estimate.as_ref(), s.pool_bounds());
        writeln!(out, "  Live: {}.", Shown { seen: pools, estimate, bounds: bounds.as_ref() }.amount())?;
        if bounds.is_some_and(|bounds| !bounds.is_exact()) {
            let (bytes, blocks) = (bytes(pools.bytes), counted(pools.blocks, "block"));
            writeln!(out, "  Of the table, and in the list below: {bytes} in {blocks}.")?;
        }
        stacks(out, largest, pools, printer)
    }

    fn missing(&self, out: Out<'_>, names: &NamedStacks<'_>) -> io::Result<()> {
        heading(out, "What is missing")?;
        if !self.snapshot.table.name.is_empty() && self.snapshot.dropped.iter().any(|of| of.count > 0) {
            writeln!(out, "  Of the whole recording of the process, also after this snapshot:")?;
        }
        losses::dropped_before(out, &self.snapshot.dropped, self.snapshot.sampling.is_some())?;
        losses::names(out, &names.unnamed())?;
        for problem in &self.snapshot.problems {
            writeln!(out, "  {problem}.")?;
        }
        writeln!(out, "  Blocks allocated before the recording began, or while it was off.")
    }
}

/// Stacks, with what each holds of an amount.
fn stacks(out: Out<'_>, stacks: &[&LiveStack], of: Amount, printer: &mut StackPrinter<'_>) -> io::Result<()> {
    for (i, stack) in stacks.iter().enumerate() {
        let sure = stack.estimate.as_ref();
        let figures = format!(
            "{}: {} in {}, {} to {} old",
            percent(stack.live.bytes, of.bytes),
            estimate::row_bytes(stack.live.bytes, sure),
            estimate::row_blocks(stack.live.blocks, sure),
            duration(stack.youngest_ns),
            duration(stack.oldest_ns)
        );
        printer.entry(out, i + 1, &figures, stack.node)?;
    }
    Ok(())
}

/// `at least 11.3 MiB in 158,316 blocks are live`, and why no more is known, where the table does not have all.
pub fn live_bounds(snapshot: &Snapshot) -> Option<String> {
    let live = bounds::amount(&snapshot.bounds()?);
    let causes = crate::losses::of_table(snapshot.untracked(), snapshot.lost_events());
    let causes: Vec<_> = causes.into_iter().chain(of_cut(snapshot)).chain(of_off(snapshot)).collect();
    Some(format!("{live} are live: {}", causes.join("; ")))
}

/// A table of live blocks in a trace that has events too, in a sentence.
pub fn summary(out: Out<'_>, snapshot: &Snapshot) -> io::Result<()> {
    let t = &snapshot.table;
    let pid = snapshot.process.info.as_ref().map_or(0, |info| info.pid);
    let what = match t.role {
        LiveRole::Snapshot if t.name.is_empty() => "live at a snapshot".to_owned(),
        LiveRole::Snapshot => format!("live at the snapshot {:?}", t.name),
        LiveRole::Before => "live before the first event in the trace".to_owned(),
        LiveRole::After => "live after the last event in the trace".to_owned(),
    };
    let (bytes, blocks) = (bytes(snapshot.live.bytes), counted(snapshot.live.blocks, "block"));
    writeln!(out, "  Process {pid}, {what}, on {}: {bytes} in {blocks}.", date(t.real_ns))
}
