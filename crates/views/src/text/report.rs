//! The report: what the heap of a program did, from the totals to what is missing.

use std::collections::BTreeMap;
use std::io;

use heapscribe_analyze::answer::{Amount, Answer, Bounds, Exit, NodeId, Stack};
use heapscribe_analyze::estimate::{Estimate, Sampling};
use heapscribe_analyze::measure::Measure;

use super::bounds::{self, Shown};
use super::findings::{Described, blocks, wrapped};
use super::runtime_blocks::OfRuntime;
use super::stack_list::{StackPrinter, is_worth_showing};
use super::{
    Out, annotations, chart, coverage, early_times, estimate, heading, heap, hints, latency, long_lived,
    losses, mappings, real_time, resident, ring, tables,
};
use crate::check::calls::RuleOutcome;
use crate::coverage::Explained;
use crate::open_end::OpenEnd;
use crate::own::{Folded, Merged};
use heapscribe_symbols::{NamedStacks, lossy};
use heapscribe_units::{count, counted, date, percent, short_bytes, time};

/// What is to be printed.
pub struct Report<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// The outcomes of the rules that it was recorded with.
    pub outcomes: &'a [RuleOutcome],
    /// Entries of each list.
    pub top: usize,
    /// The trace's path, for the commands to type next.
    pub trace: &'a str,
    /// Which processes and threads of it this is about, in words; nothing for all.
    pub part: &'a str,
    /// How much of the growth of memory is explained, where that is known.
    pub coverage: Option<&'a Explained>,
    /// Columns of a line.
    pub width: usize,
}

impl Report<'_> {
    /// The stacks whose names need to be looked up: all, because stacks are put together by name.
    pub fn wanted(&self) -> Vec<NodeId> {
        let of_annotations = crate::annotations::nodes(self.answer, self.top.max(annotations::STACKS));
        let of_calls = latency::wanted(self.answer, self.top).chain(real_time::wanted(self.answer));
        let of_lists = self.answer.stacks.iter().map(|stack| stack.node);
        let of_mappings = mappings::wanted(self.answer, self.top);
        of_lists.chain(of_annotations).chain(of_calls).chain(of_mappings).collect()
    }

    /// Prints all of it.
    pub fn print(
        &self,
        out: Out<'_>,
        names: &NamedStacks<'_>,
        findings: &[Described],
        folded: &Folded,
    ) -> io::Result<()> {
        let mut stacks = StackPrinter::folding(names, self.width, folded);
        self.header(out)?;
        if let Some(why) = losses::nothing(self.answer) {
            heading(out, "Nothing was recorded")?;
            wrapped(&format!("  {why}."), self.width, 2)
                .iter()
                .try_for_each(|line| writeln!(out, "{line}"))?;
            if !findings.is_empty() {
                self.findings(out, findings)?;
            }
            tables::processes(out, self.answer, self.top)?;
            chart::draw(out, self.answer, self.width)?;
            coverage::section(out, self.coverage, self.width)?;
            resident::section(out, self.answer)?;
            mappings::print(out, self.answer, (self.top, self.width), &mut stacks)?;
            return losses::section(out, self.answer, &names.unnamed());
        }
        self.findings(out, findings)?;
        self.totals(out)?;
        self.peak(out, &mut stacks)?;
        self.leaked(out, &mut stacks)?;
        self.temporary(out, &mut stacks)?;
        long_lived::print(out, self.answer, self.top, &mut stacks)?;
        stacks.list(out, "Most allocations")?;
        self.list(out, Measure::Count, &mut stacks)?;
        stacks.list(out, "Most bytes")?;
        self.list(out, Measure::Allocated, &mut stacks)?;
        latency::print(out, self.answer, self.top, &mut stacks)?;
        real_time::print(out, self.answer, self.outcomes, self.trace, &mut stacks)?;
        annotations::print(out, self.answer, self.top, &mut stacks)?;
        tables::sizes(out, self.answer)?;
        tables::lifetimes(out, self.answer)?;
        tables::threads(out, self.answer, self.top)?;
        tables::processes(out, self.answer, self.top)?;
        heap::section(out, self.answer)?;
        chart::draw(out, self.answer, self.width)?;
        coverage::section(out, self.coverage, self.width)?;
        resident::section(out, self.answer)?;
        mappings::print(out, self.answer, (self.top, self.width), &mut stacks)?;
        losses::section(out, self.answer, &names.unnamed())?;
        hints::section(out, self.answer, self.trace)?;
        self.next(out)
    }

    pub(super) fn header(&self, out: Out<'_>) -> io::Result<()> {
        let a = self.answer;
        let command: Vec<_> = a.command.iter().map(|part| lossy(part)).collect();
        writeln!(out, "Heap of: {}", command.join(" "))?;
        let when =
            if a.begin_real_ns == 0 { String::new() } else { format!(" on {}", date(a.begin_real_ns)) };
        let host = if a.host.is_empty() { String::new() } else { format!(" at {}", a.host) };
        writeln!(out, "Recorded{when}{host} for {}; {}.", self.time(a.duration_ns), self.end())?;
        if !self.part.is_empty() {
            writeln!(out, "This is a part of it: {}.", self.part)?;
        }
        ring::header(out, a)?;
        if let Some(early) = early_times::sentence(a.early_times) {
            wrapped(&early, self.width, 0).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        a.sampling.as_ref().map_or(Ok(()), |sampling| {
            wrapped(&estimate::legend(sampling), self.width, 0)
                .iter()
                .try_for_each(|line| writeln!(out, "{line}"))
        })
    }

    pub(super) fn time(&self, ns: u64) -> String {
        time(ns, self.answer.counts_calls)
    }

    fn findings(&self, out: Out<'_>, findings: &[Described]) -> io::Result<()> {
        if findings.is_empty() {
            return Ok(());
        }
        heading(out, "Findings")?;
        blocks(findings, self.width).iter().flatten().try_for_each(|line| writeln!(out, "{line}"))
    }

    /// `, 12 a second`, where there are times.
    fn a_second(&self, amount: impl FnOnce(&Answer) -> String) -> String {
        if self.answer.counts_calls { String::new() } else { format!(", {} per second", amount(self.answer)) }
    }

    /// How sure a total is, when blocks were sampled.
    fn sureness(&self, of: fn(&Sampling) -> &Estimate) -> Option<&Estimate> {
        self.answer.sampling.as_ref().filter(|sampling| sampling.has_estimates()).map(of)
    }

    /// A figure, how sure it is and between what it lies.
    pub(super) fn shown<'b>(
        &'b self,
        seen: Amount,
        estimate: fn(&Sampling) -> &Estimate,
        bounds: Option<&'b Bounds>,
    ) -> Shown<'b> {
        Shown { seen, estimate: self.sureness(estimate), bounds }
    }

    /// How sure a stack's figure is, when blocks were sampled.
    pub(super) fn sureness_of(&self, by: Measure, stack: &Stack) -> Option<&Estimate> {
        let sampling = self.answer.sampling.as_ref()?;
        let at = self.answer.stacks.binary_search_by_key(&stack.node, |s| s.node).ok()?;
        sampling.stacks.get(at).map(|of| by.estimate(of))
    }

    /// What stands before figures without a range of their own.
    pub(super) fn about(&self) -> String {
        if self.is_estimated() { format!("{} ", heapscribe_units::about()) } else { String::new() }
    }

    fn about_count(&self, n: u64) -> String {
        if self.is_estimated() { estimate::about_count(n) } else { count(n) }
    }

    pub(super) fn is_estimated(&self) -> bool {
        self.answer.sampling.as_ref().is_some_and(Sampling::has_estimates)
    }

    fn end(&self) -> String {
        match self.answer.exit {
            Some(Exit::Code(code)) => format!("the program exited with code {code}"),
            Some(Exit::Signal(signal)) => format!("the program was killed by signal {signal}"),
            None => "how the program ended is unknown".to_owned(),
        }
    }

    fn totals(&self, out: Out<'_>) -> io::Result<()> {
        let t = &self.answer.totals;
        heading(out, "Totals")?;
        let c = &t.calls;
        let allocated = Amount { blocks: t.allocations, bytes: t.allocated_bytes };
        // What is bounded is all that happened, and these totals are of what a ring has.
        let evicted = &self.answer.evicted;
        let of_evicted = [
            Amount { blocks: evicted.allocated_blocks, bytes: evicted.allocated_bytes },
            Amount { blocks: evicted.freed_blocks, bytes: evicted.freed_bytes },
        ];
        let bounds = self.answer.bounds.as_ref().map(|bounds| [&bounds.allocated, &bounds.freed]);
        let [in_ring, freed_in_ring] = [0, 1].map(|n| bounds.map(|of| of[n].without(of_evicted[n])));
        let allocated = self.shown(allocated, |s| &s.allocated, in_ring.as_ref());
        let freed = Amount { blocks: t.frees, bytes: t.freed_bytes };
        let freed = self.shown(freed, |s| &s.freed, freed_in_ring.as_ref());
        writeln!(
            out,
            "  {}{}:",
            estimate::about_counted(c.all(), "call", self.is_estimated()),
            self.a_second(|a| count(a.calls_per_second() as u64))
        )?;
        let kinds = [
            ("malloc", c.malloc),
            ("calloc", c.calloc),
            ("realloc", c.realloc),
            ("aligned", c.aligned),
            ("free", c.free),
        ];
        for (name, calls) in kinds {
            let calls = if calls > 0 { self.about_count(calls) } else { count(0) };
            writeln!(out, "    {name:<8}{calls:>16}")?;
        }
        writeln!(
            out,
            "  {} of {}{}.",
            allocated.blocks("allocation"),
            allocated.bytes(),
            self.a_second(|a| short_bytes(a.allocated_bytes_per_second() as u64)),
        )?;
        writeln!(
            out,
            "  {} of {}; {} by a thread other than the allocating one.",
            freed.blocks("free"),
            freed.bytes(),
            self.about_count(t.frees_by_others)
        )?;
        // Both blocks of a realloc are sampled too rarely to say anything.
        if c.realloc > 0 && !self.is_estimated() {
            let [grown, shrunk, same] = [t.reallocs_grown, t.reallocs_shrunk, t.reallocs_same].map(count);
            writeln!(out, "  Reallocs: {grown} grew, {shrunk} shrank, {same} kept the size.")?;
        }
        writeln!(out, "  Failed: {}.", counted(t.failed, "call"))?;
        bounds::why_of_events(out, self.answer, allocated.bounds)
    }

    fn peak(&self, out: Out<'_>, stacks: &mut StackPrinter<'_>) -> io::Result<()> {
        let (peak, is_ring) = (&self.answer.peak, self.answer.evicted.is_of_ring());
        stacks.list(out, "Peak")?;
        let seen = Amount { blocks: peak.blocks, bytes: peak.bytes };
        let bounds = bounds::of(self.answer, |bounds| &bounds.peak);
        let shown = self.shown(seen, |s| &s.peak, bounds.filter(|_| !is_ring));
        let (where_, time) = (if is_ring { "In the ring the" } else { "The" }, self.time(peak.time_ns));
        let known = || format!("{where_} heap was largest {time} after the start: {}", shown.amount());
        writeln!(out, "  {}.", bounds::largest(&shown, &time).unwrap_or_else(known))?;
        self.peak_of_one(out)?;
        if is_ring {
            ring::peak_before(out, self.answer, bounds)?;
        }
        bounds::why_of_events(out, self.answer, shown.bounds)?;
        self.list(out, Measure::Peak, stacks)
    }

    /// The peak is of what all processes held at one time; beside it the highest of one of them.
    fn peak_of_one(&self, out: Out<'_>) -> io::Result<()> {
        let processes = &self.answer.processes;
        let highest = processes.iter().rev().max_by_key(|process| process.peak.bytes);
        let Some(highest) = highest.filter(|_| processes.len() > 1) else { return Ok(()) };
        let (about, name) = (self.about(), tables::program(highest));
        let part = bounds::of_recorded(self.answer, highest);
        writeln!(
            out,
            "  That is all processes together. The largest peak of one{part} was {about}{}, of {name} ({}).",
            heapscribe_units::bytes(highest.peak.bytes),
            highest.pid
        )
    }

    fn leaked(&self, out: Out<'_>, stacks: &mut StackPrinter<'_>) -> io::Result<()> {
        let leaked = self.answer.leaked;
        stacks.list(out, "Leaked")?;
        let shown = self.shown(leaked, |s| &s.leaked, bounds::of(self.answer, |bounds| &bounds.leaked));
        let is_sure = estimate::unseen_range(shown.estimate).is_empty();
        if leaked.blocks == 0 && is_sure && shown.bounds.is_none_or(Bounds::is_exact) {
            let what = if self.answer.sampling.is_some() { "recorded block" } else { "block" };
            return writeln!(out, "  Nothing: every {what} was freed.");
        }
        writeln!(out, "  Never freed: {}.", shown.amount())?;
        bounds::why(out, self.answer, shown.bounds)?;
        ring::leaked_by_evicted(out, self.answer)?;
        if let Some(open) = OpenEnd::of_any(self.answer) {
            writeln!(out, "  {}", open.sentence())?;
        }
        let of_runtime = OfRuntime::new(self.answer, stacks);
        if !of_runtime.is_empty() {
            let (whole, purposes) = of_runtime.together();
            let purposes = purposes.join(", ");
            let amount = self.amount(Measure::Leaked, &whole);
            writeln!(out, "  Of that, runtime libraries keep {amount} until the end on purpose")?;
            writeln!(out, "  ({purposes}); the list is of the rest.")?;
        }
        self.list_but(out, Measure::Leaked, stacks, &of_runtime.0)
    }

    fn temporary(&self, out: Out<'_>, stacks: &mut StackPrinter<'_>) -> io::Result<()> {
        let temporary = self.answer.temporary;
        stacks.list(out, "Temporary")?;
        writeln!(
            out,
            "  Freed before their thread allocated again: {} of {}, {} of all allocations.",
            estimate::blocks(temporary.blocks, "block", self.sureness(|s| &s.temporary)),
            estimate::bytes(temporary.bytes, self.sureness(|s| &s.temporary)),
            percent(temporary.blocks, self.answer.totals.allocations)
        )?;
        self.list(out, Measure::Temporary, stacks)
    }

    fn list(&self, out: Out<'_>, by: Measure, stacks: &mut StackPrinter<'_>) -> io::Result<()> {
        self.list_but(out, by, stacks, &BTreeMap::new())
    }

    /// A list of own callers, those with most first, without some stacks.
    fn list_but(
        &self,
        out: Out<'_>,
        by: Measure,
        stacks: &mut StackPrinter<'_>,
        left_out: &BTreeMap<NodeId, (usize, u64)>,
    ) -> io::Result<()> {
        let is_listed = |stack: &&Stack| by.amount(stack).blocks > 0 && !left_out.contains_key(&stack.node);
        let with_any = || self.answer.stacks.iter().filter(is_listed);
        let whole = with_any().map(|stack| by.of(stack)).fold(0, u64::saturating_add);
        let merged = stacks.merge(with_any().map(|stack| (stack.node, by.of(stack))));
        let shown = merged.iter().take(self.top).take_while(|of| is_worth_showing(of.figure, whole)).count();
        for (i, of) in merged[..shown].iter().enumerate() {
            let figures = format!("{}: {}", percent(of.figure, whole), self.amount(by, of));
            stacks.merged(out, i + 1, &(figures + &bounds::ages(self.answer, by, &self.stacks(of))), of)?;
        }
        let rest = &merged[shown..];
        if rest.is_empty() {
            return Ok(());
        }
        let figure = rest.iter().map(|of| of.figure).fold(0, u64::saturating_add);
        writeln!(out, "  ... {}: {}", counted(rest.len() as u64, "more entry"), percent(figure, whole))
    }

    /// What the stacks of an entry have together.
    fn amount(&self, by: Measure, of: &Merged) -> String {
        let stacks = self.stacks(of);
        let mut amount = Amount::default();
        stacks.iter().for_each(|stack| amount.add(&by.amount(stack)));
        let estimates: Vec<&Estimate> =
            stacks.iter().filter_map(|stack| self.sureness_of(by, stack)).collect();
        let together = match estimates[..] {
            [] => None,
            [one] => Some(*one),
            _ => Some(estimate::sum(amount, &estimates)),
        };
        let b = estimate::row_bytes(amount.bytes, together.as_ref());
        let n = estimate::row_blocks(amount.blocks, together.as_ref());
        if by.counts_blocks() {
            format!("{n} of {b}")
        } else if let Some(bounds) = bounds::of_stacks(self.answer, by, &stacks) {
            bounds::amount(&bounds)
        } else {
            format!("{b} in {n}")
        }
    }

    /// The stacks of an entry.
    pub(super) fn stacks(&self, of: &Merged) -> Vec<&Stack> {
        of.parts.iter().filter_map(|(node, _)| self.stack(*node)).collect()
    }

    fn stack(&self, node: NodeId) -> Option<&Stack> {
        let at = self.answer.stacks.binary_search_by_key(&node, |stack| stack.node).ok()?;
        self.answer.stacks.get(at)
    }

    fn next(&self, out: Out<'_>) -> io::Result<()> {
        heading(out, "Next")?;
        if self.answer.counts_calls {
            writeln!(out, "  heapscribe plot {} -o heap.svg", self.trace)?;
            return writeln!(out, "  heapscribe report {} --json", self.trace);
        }
        let of = match self.answer {
            a if a.leaked.bytes > 0 => "leaked",
            a if a.temporary.blocks > 0 => "temporary",
            _ => "allocated",
        };
        writeln!(out, "  heapscribe flame {} -o peak.svg", self.trace)?;
        writeln!(out, "  heapscribe flame {} -o {of}.html --metric {of}", self.trace)?;
        writeln!(out, "  heapscribe report {} --json", self.trace)
    }
}
