//! The report of a range: which one, its sums, and the stacks with most of them.

use std::io;

use super::findings::wrapped;
use super::stack_list::StackPrinter;
use super::{Out, early_times, heading};
use crate::range::{RangeFigure, RangeReport};
use heapscribe_symbols::NamedStacks;
use heapscribe_units::{bytes, counted, duration, percent};

/// Prints all of it.
pub fn print(out: Out<'_>, report: &RangeReport<'_>, names: &NamedStacks<'_>) -> io::Result<()> {
    writeln!(out, "Range of: {}", report.command)?;
    writeln!(out, "{}.", in_words(report))?;
    if !report.part.is_empty() {
        writeln!(out, "Only {}.", report.part)?;
    }
    if let Some(early) = early_times::sentence(report.early_times) {
        wrapped(&early, report.width, 0).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    if report.is_estimated {
        writeln!(out, "Blocks were sampled: all figures are estimates.")?;
    }
    if !report.causes.is_empty() {
        writeln!(out, "Not known exactly: {}.", report.causes.join("; "))?;
        writeln!(out, "At least so much was allocated and freed; what was live may have been more or less.")?;
    }
    sums(out, report)?;
    let mut printer = StackPrinter::new(names, report.width);
    for list in report.lists() {
        let title = if report.times.freed.is_some() { FREED_SO } else { title(list) };
        printer.list(out, title)?;
        let total = report.total(list).bytes;
        let first = report.first(list);
        if first.is_empty() {
            writeln!(out, "  none")?;
        }
        for (rank, (node, amount)) in first.into_iter().enumerate() {
            let share = percent(amount.bytes, total);
            let figures = format!("{share}: {} in {}", bytes(amount.bytes), counted(amount.blocks, "block"));
            printer.entry(out, rank + 1, &figures, node)?;
        }
    }
    Ok(())
}

/// Which range it is.
fn in_words(report: &RangeReport<'_>) -> String {
    let times = &report.times;
    let at = |ns: u64| duration(ns);
    let mut words = match (times.from_ns, times.to_ns) {
        (None, None) => format!("The whole recording, {}", at(report.duration_ns)),
        (Some(from), None) => format!("From {} to the end, {}", at(from), at(report.duration_ns)),
        (None, Some(to)) => format!("From the start to {} of {}", at(to), at(report.duration_ns)),
        (Some(from), Some(to)) => format!("From {} to {} of {}", at(from), at(to), at(report.duration_ns)),
    };
    match (times.born_from_ns, times.born_to_ns) {
        (None, None) => {}
        (from, to) => {
            let to = to.map_or_else(|| "the end".to_owned(), at);
            words += &format!("; only blocks allocated from {} to {to}", at(from.unwrap_or(0)));
        }
    }
    if let Some((from, to)) = times.freed {
        let to = to.map_or_else(|| "the end".to_owned(), at);
        words += &format!("; only blocks freed from {} to {to}", at(from.unwrap_or(0)));
    }
    match times.live_at_ns {
        Some(ns) if ns >= report.duration_ns => {
            words += "; only blocks live at the end, which were never freed"
        }
        Some(ns) => words += &format!("; only blocks live at {}", at(ns)),
        None => {}
    }
    words
}

fn sums(out: Out<'_>, report: &RangeReport<'_>) -> io::Result<()> {
    heading(out, "Blocks")?;
    let mut row = |name: &str, of: RangeFigure| {
        let amount = report.total(of);
        writeln!(out, "  {name:<28} {} in {}", bytes(amount.bytes), counted(amount.blocks, "block"))
    };
    if report.times.live_at_ns.is_some() {
        return row("live at that moment", RangeFigure::Live);
    }
    if report.times.freed.is_some() {
        return row("freed in that time", RangeFigure::Freed);
    }
    row("allocated in the range", RangeFigure::Allocated)?;
    row("freed in the range", RangeFigure::Freed)?;
    row("allocated in it, not freed", RangeFigure::NotFreed)?;
    if report.times.from_ns.is_some() {
        row("live when it begins", RangeFigure::LiveAtBegin)?;
    }
    if report.times.to_ns.is_some() {
        row("live when it ends", RangeFigure::Live)?;
    }
    Ok(())
}

/// Of blocks that are chosen by when they were freed.
const FREED_SO: &str = "Stacks with the most bytes of such blocks";

const fn title(of: RangeFigure) -> &'static str {
    match of {
        RangeFigure::Allocated => "Stacks that allocated most in the range",
        RangeFigure::Freed => "Stacks with most bytes freed in the range",
        RangeFigure::NotFreed => "Stacks with most bytes allocated in the range and not freed in it",
        RangeFigure::LiveAtBegin => "Stacks with the most live bytes when it begins",
        RangeFigure::Live => "Stacks with the most live bytes",
    }
}
