//! The first screen of a report, for whatever trace no longer than a screen: what the program was, the curve of its heap,
//! what is worth changing, who held most at the peak, what is missing, and what to type next.

use std::io;

use heapscribe_analyze::answer::{Amount, Answer, Range, Stack};
use heapscribe_analyze::estimate::Estimate;
use heapscribe_analyze::measure::Measure;
use heapscribe_symbols::NamedStacks;
use heapscribe_units::{about, count, counted, percent, percent_cell, short_bytes};

use super::findings::{Described, Who, blocks, wrapped};
use super::fit::fit;
use super::functions::Functions;
use super::report::Report;
use super::stack_list::WIDTH;
use super::{Out, bounds, chart, estimate, heading, losses, ring, tables};
use crate::coverage::{Explained, UnseenHeap};
use crate::object_allocators;
use crate::open_end::OpenEnd;
use crate::own::{Folded, Merged, NO_FILE, OwnCallers};

/// Lines of a screen.
pub const LINES: usize = 50;
/// Rows of the chart.
const ROWS: usize = 5;
/// Lines on what is missing, at most.
const MISSING: usize = 5;
/// Lines that only traces of other formats have, at most.
const BESIDE: usize = 6;

/// What code without a name is, and what to do.
const OF_JIT: &str =
    "  Code in no file is what the program made while it ran: `record --jit` gives a JIT compiler's names.";

/// What is to be printed.
pub struct Brief<'a> {
    /// The report that it is the first screen of.
    pub report: &'a Report<'a>,
    /// What is worth changing.
    pub findings: &'a [Described],
    /// Functions that are stepped over.
    pub folded: &'a Folded,
    /// What is to be said of the file besides.
    pub beside: &'a str,
}

impl Brief<'_> {
    /// Prints it.
    pub fn print(&self, out: Out<'_>, names: &NamedStacks<'_>) -> io::Result<()> {
        // On a narrow terminal more lines are a screen's.
        let fit = |lines: Vec<String>| -> Vec<String> {
            let is_narrow = self.report.width < WIDTH;
            let fitted = |line: String| if is_narrow { fit(&line, self.report.width) } else { vec![line] };
            lines.into_iter().flat_map(fitted).collect()
        };
        let head = fit(lines(|out| self.head(out))?);
        let mut rest = Vec::new();
        if losses::nothing(self.report.answer).is_none() {
            rest.extend(lines(|out| self.top(out, names))?);
        }
        rest.extend(self.beside.lines().take(BESIDE).map(str::to_owned));
        rest.extend(self.missing(names)?);
        rest.extend(lines(|out| self.next(out))?);
        let rest = fit(rest);
        let findings = self.findings(LINES.saturating_sub(head.len() + rest.len()))?;
        let all = head.iter().chain(&findings).chain(&rest);
        let limit = if self.report.top > TOP { usize::MAX } else { LINES };
        all.take(limit).try_for_each(|line| writeln!(out, "{line}"))
    }

    fn head(&self, out: Out<'_>) -> io::Result<()> {
        let header = lines(|out| self.report.header(out))?;
        for line in &header {
            let is_long = line.chars().count() > self.report.width && line.starts_with("Heap of: ");
            let shown: String = line.chars().take(self.report.width - 3).collect();
            writeln!(out, "{}", if is_long { shown + "..." } else { line.clone() })?;
        }
        match losses::nothing(self.report.answer) {
            Some(why) => {
                heading(out, "Nothing was recorded")?;
                wrapped(&format!("  {why}."), self.report.width, 2)
                    .iter()
                    .try_for_each(|line| writeln!(out, "{line}"))?;
            }
            None => self.overview(out)?,
        }
        chart::draw_rows(out, self.report.answer, ROWS, self.report.width)
    }

    /// The main figures.
    fn overview(&self, out: Out<'_>) -> io::Result<()> {
        let answer = self.report.answer;
        let is_ring = answer.evicted.is_of_ring();
        let of_peak = bounds::of(answer, |bounds| &bounds.peak).filter(|_| !is_ring);
        let peak = Amount { blocks: answer.peak.blocks, bytes: answer.peak.bytes };
        let peak = self.report.shown(peak, |s| &s.peak, of_peak);
        let left =
            self.report.shown(answer.leaked, |s| &s.leaked, bounds::of(answer, |bounds| &bounds.leaked));
        let (where_, time) =
            (if is_ring { "Peak in the ring" } else { "Peak" }, self.report.time(answer.peak.time_ns));
        let mut text = vec![format!("{where_}: {}.", bounds::peak(&peak, &time))];
        text.extend(ring::peak_of_run(answer));
        let open = OpenEnd::of_any(answer).filter(|_| answer.leaked != Amount::default());
        let open = open.map_or("", OpenEnd::remark);
        text.push(format!("Never freed{open}: {}.", left.amount()));
        let temporary = percent(answer.temporary.blocks, answer.totals.allocations);
        let about = self.report.about();
        let is_part_estimated = bounds::is_part_estimated(answer);
        let is_part =
            is_part_estimated || answer.bounds.as_ref().is_some_and(|bounds| !bounds.allocated.is_exact());
        let what = if is_part { "Allocated, of what was recorded" } else { "Allocated" };
        text.push(format!(
            "{what}: {} of {}, {temporary} of them temporary.",
            estimate::about_counted(answer.totals.allocations, "block", self.report.is_estimated()),
            short_bytes(answer.totals.allocated_bytes),
        ));
        if answer.processes.len() > 1 {
            let highest = answer.processes.iter().rev().max_by_key(|process| process.peak.bytes);
            let highest = highest.map_or_else(String::new, |process| {
                let (bytes, name) = (short_bytes(process.peak.bytes), tables::program(process));
                let part = bounds::of_recorded(answer, process);
                format!("; the largest peak of one{part} was {about}{bytes}, of {name} ({})", process.pid)
            });
            text.push(format!("{} processes{highest}.", count(answer.processes.len() as u64)));
        }
        text.extend(object_allocators::sentences(answer).map(str::to_owned));
        let is_open = [peak.bounds, left.bounds].into_iter().flatten().any(|bounds| !bounds.is_exact());
        let was_off = answer.processes.iter().any(|process| !process.off.is_empty());
        if (is_open || is_part_estimated || was_off) && !crate::losses::causes(answer).is_empty() {
            text.push(format!("Not known exactly: {}.", crate::losses::causes(answer).join("; ")));
        }
        wrapped(&text.join(" "), self.report.width, 0).iter().try_for_each(|line| writeln!(out, "{line}"))
    }

    /// As many findings as there is room for, the worst first, and the kinds of the others.
    fn findings(&self, room: usize) -> io::Result<Vec<String>> {
        if losses::nothing(self.report.answer).is_some() && self.findings.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = lines(|out| heading(out, "Findings"))?;
        if self.findings.is_empty() {
            found.extend(wrapped(&none(self.report.answer), self.report.width, 2));
            return Ok(found);
        }
        let blocks = blocks(self.findings, self.report.width);
        let mut shown = 0;
        for block in &blocks {
            let is_last = shown + 1 == blocks.len();
            if found.len() + block.len() + usize::from(!is_last) > room {
                break;
            }
            found.extend(block.iter().cloned());
            shown += 1;
        }
        let more: Vec<&str> = self.findings[shown..].iter().map(|of| of.finding.kind.name()).collect();
        if !more.is_empty() {
            let text = format!("  ... {} more (see --full): {}", count(more.len() as u64), more.join(", "));
            found.push(text.chars().take(self.report.width).collect());
        }
        Ok(found)
    }

    /// Who held most at the peak, a line each.
    fn top(&self, out: Out<'_>, names: &NamedStacks<'_>) -> io::Result<()> {
        let answer = self.report.answer;
        let (by, title) = match answer.peak.bytes {
            0 => (Measure::Allocated, "Who allocated most"),
            _ => (Measure::Peak, "Who held most at the peak"),
        };
        let mut own = OwnCallers::folding(names, self.folded);
        let with_any = || answer.stacks.iter().filter(|stack| by.of(stack) > 0);
        let whole = with_any().map(|stack| by.of(stack)).fold(0, u64::saturating_add);
        let merged = own.merge(with_any().map(|stack| (stack.node, by.of(stack))));
        if merged.is_empty() {
            return Ok(());
        }
        let part = if answer.bounds.is_some() { " (of what was recorded)" } else { "" };
        heading(out, &format!("{title}{part}, by the first function of the program's own code"))?;
        let mut functions = Functions::new(names);
        let rows: Vec<(&Merged, Who)> = merged
            .iter()
            .take(self.report.top)
            .map(|of| (of, Who::of_all(of, &mut own, &mut functions, names)))
            .collect();
        let is_in_no_file = rows.iter().any(|(_, who)| who.name == NO_FILE);
        for text in thin(&own).into_iter().chain(is_in_no_file.then(|| OF_JIT.to_owned())) {
            wrapped(&text, self.report.width, 2).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        for (rank, (of, who)) in (1..).zip(rows) {
            let share = percent_cell(of.figure, whole);
            let begin = format!("{rank:>4}. {share:>7} {}: ", self.amount(by, of));
            let columns = self.report.width.saturating_sub(begin.chars().count()).max(20);
            let who = match of.parts.first() {
                Some((node, _)) if names.is_evicted(*node) => "stack not in the trace".to_owned(),
                _ => who.line(columns),
            };
            writeln!(out, "{begin}{who}")?;
        }
        Ok(())
    }

    /// Bytes and blocks of an entry, short: beside losses between what they lie.
    fn amount(&self, by: Measure, of: &Merged) -> String {
        let answer = self.report.answer;
        let stacks: Vec<&Stack> = self.report.stacks(of);
        let mut amount = Amount::default();
        stacks.iter().for_each(|stack| amount.add(&by.amount(stack)));
        if let Some(bounds) = bounds::of_stacks(answer, by, &stacks) {
            return range(&bounds.bytes);
        }
        let estimates: Vec<&Estimate> =
            stacks.iter().filter_map(|stack| self.report.sureness_of(by, stack)).collect();
        let figure = (!estimates.is_empty()).then(|| estimate::sum(amount, &estimates).bytes);
        match figure.filter(|figure| figure.variance > 0.0) {
            Some(figure) => {
                let short = |n: f64| short_bytes(n as u64);
                format!("{} {} ({})", about(), short(figure.value), estimate::ends(&figure, short))
            }
            None => format!("{} in {}", short_bytes(amount.bytes), counted(amount.blocks, "block")),
        }
    }

    /// What is missing, without what every program lacks. That something was not recorded at all is never left out.
    fn missing(&self, names: &NamedStacks<'_>) -> io::Result<Vec<String>> {
        let answer = self.report.answer;
        let wrap = |lines: Vec<String>| -> Vec<String> {
            lines.iter().flat_map(|line| wrapped(line, self.report.width, 4)).collect()
        };
        let mut rest = lines(|out| losses::rest(out, answer, &names.unnamed()))?;
        rest.retain(|line| !line.starts_with("  No debug information:"));
        let (unseen, rest) = (wrap(lines(|out| losses::not_recorded(out, answer))?), wrap(rest));
        let briefly = || Ok(wrap(lines(|out| losses::not_recorded_briefly(out, answer))?));
        let mut all = lines(|out| heading(out, "What is missing"))?;
        all.extend(
            self.report
                .coverage
                .filter(|of| of.is_heap_low())
                .map_or_else(Vec::new, |of| wrap(vec![low(of)])),
        );
        all.extend(cut_to(MISSING, unseen, briefly, rest)?);
        Ok(all)
    }

    fn next(&self, out: Out<'_>) -> io::Result<()> {
        let trace = self.report.trace;
        heading(out, "Next")?;
        if !self.report.answer.counts_calls {
            writeln!(out, "  heapscribe flame {trace} -o peak.svg")?;
        }
        writeln!(out, "  heapscribe report {trace} --full")?;
        writeln!(out, "  heapscribe report {trace} --json")
    }
}

/// That most of the memory is not the heap's, and whose it is.
fn low(explained: &Explained) -> String {
    let of = |heap: &UnseenHeap| format!("{} in {}", heap.name, heap.file);
    let heaps: Vec<String> = explained.heaps.iter().map(of).collect();
    let unseen =
        if heaps.is_empty() { String::new() } else { format!(" Not recorded: {}.", heaps.join(", ")) };
    format!("  {}{unseen} See --full.", explained.sentence())
}

/// So many lines of the first and the rest; of the first, when they are too many, the same in brief.
fn cut_to(
    room: usize,
    mut first: Vec<String>,
    briefly: impl FnOnce() -> io::Result<Vec<String>>,
    rest: Vec<String>,
) -> io::Result<Vec<String>> {
    let whole = first.len() + rest.len();
    if whole > room && first.len() >= room {
        first = briefly()?;
    }
    if whole > room {
        first.extend(rest.into_iter().take(room.saturating_sub(first.len() + 1)));
        let more = (whole - first.len()) as u64;
        first.push(format!("  ... {} (see --full)", counted(more, "more line")));
    } else {
        first.extend(rest);
    }
    Ok(first)
}

/// Which libraries a thin `main` is over.
fn thin(own: &OwnCallers<'_>) -> Vec<String> {
    let (named, nameless) = (own.libraries(), own.nameless_libraries());
    let mut texts = Vec::new();
    if !named.is_empty() {
        let (verb, them) = if named.len() == 1 { ("counts", "it") } else { ("count", "them") };
        let why = format!("the program does little but call {them}");
        texts.push(format!("  {} {verb} as the program's own code: {why}.", named.join(", ")));
    }
    if !nameless.is_empty() {
        let why = "whose functions have no names here: install debug symbols to see them";
        texts.push(format!("  The program does little but call {}, {why}.", nameless.join(", ")));
    }
    texts
}

/// What there is to say without a finding: of what is missing nothing.
fn none(answer: &Answer) -> String {
    let causes = crate::losses::causes(answer);
    let is_open = !causes.is_empty() && answer.bounds.is_some();
    match (is_open, !answer.evicted.is_of_ring()) {
        (true, _) => {
            let causes = crate::losses::Missing::of(answer).causes_briefly().join("; ");
            format!("  None in what was recorded, and nothing can be told of the rest: {causes}.")
        }
        (false, false) => "  None: nothing exceeds its threshold in what the ring still has.".to_owned(),
        (false, true) => "  None: nothing of what is looked for exceeds its threshold.".to_owned(),
    }
}

/// Entries of the list where nobody says how many.
pub const TOP: usize = 5;

/// Between what a number of bytes lies, short.
fn range(range: &Range) -> String {
    match (range.low, range.high) {
        (low, Some(high)) if low == high => short_bytes(low),
        (0, Some(high)) => format!("at most {}", short_bytes(high)),
        (low, Some(high)) => format!("{} to {}", short_bytes(low), short_bytes(high)),
        (0, None) => "unknown".to_owned(),
        (low, None) => format!("at least {}", short_bytes(low)),
    }
}

/// What is printed, as lines.
fn lines(print: impl FnOnce(Out<'_>) -> io::Result<()>) -> io::Result<Vec<String>> {
    let mut text = Vec::new();
    print(&mut text)?;
    Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{Coverage, Dropped, FigureBounds, Process};
    use heapscribe_formats::{Unrecorded, UnrecordedReason};
    use heapscribe_symbols::Resolver;

    use super::*;

    fn unrecorded(reasons: &[(UnrecordedReason, u64)]) -> Unrecorded {
        Unrecorded { programs: Vec::new(), others: reasons.to_vec() }
    }

    fn missing(answer: &Answer) -> Vec<String> {
        missing_beside(answer, None)
    }

    fn missing_beside(answer: &Answer, coverage: Option<&Explained>) -> Vec<String> {
        let names = NamedStacks::look_up(&answer.tree, std::iter::empty(), &Resolver::new("/nowhere"));
        let report =
            Report { answer, outcomes: &[], top: TOP, trace: "t.hst", part: "", coverage, width: 80 };
        let brief = Brief { report: &report, findings: &[], folded: &Folded::default(), beside: "" };
        brief.missing(&names).unwrap()
    }

    #[test]
    fn that_programs_were_not_recorded_is_not_left_out() {
        let off = |pid| Process { pid, off: vec![(1_000, 2_000)], ..Process::default() };
        let mut answer = Answer {
            processes: (1..8).map(off).collect(),
            unrecorded: unrecorded(&[(UnrecordedReason::Static, 9), (UnrecordedReason::User, 3)]),
            dropped: (1..9).map(|reason| Dropped { reason, count: 7 }).collect(),
            ..Answer::default()
        };
        let shown = missing(&answer);
        assert!(shown.len() <= MISSING + 2, "{shown:#?}");
        let whole = "  Not recorded, so in no figure here: 12 programs.".to_owned();
        assert!(shown.contains(&whole), "{shown:#?}");
        answer.processes.clear();
        answer.unrecorded = unrecorded(&[(UnrecordedReason::Static, 9)]);
        let shown = missing(&answer).join("\n");
        assert!(shown.contains("9 programs, because they are statically"), "{shown}");
    }

    #[test]
    fn that_the_heap_is_little_is_said_also_where_mappings_are_recorded() {
        let shown = |heap_bytes, mapped_bytes| {
            let coverage = Coverage { growth_bytes: 360 << 20, heap_bytes, mapped_bytes };
            missing_beside(&Answer::default(), Some(&Explained { coverage, heaps: Vec::new() })).join(" ")
        };
        for mapped_bytes in [0, 300 << 20] {
            assert!(shown(60 << 20, mapped_bytes).contains("explains about 17 % of the growth"));
        }
        assert!(!shown(300 << 20, 0).contains("explains"));
    }

    #[test]
    fn beside_a_loss_no_finding_tells_nothing() {
        let mut answer = Answer::default();
        assert!(none(&answer).contains("nothing of what is looked for exceeds"), "{}", none(&answer));
        answer.dropped = vec![Dropped { reason: 1, count: 7 }];
        answer.bounds = Some(FigureBounds::default());
        assert!(none(&answer).contains("nothing can be told of the rest: 7 "), "{}", none(&answer));
    }
}
