//! Annotations of programs: marks and sections, and then pools. Nothing is printed of what they did not use.

use std::io;

use heapscribe_analyze::answer::{Answer, Section};
use heapscribe_analyze::calls::CallCounts;

use super::out::{Out, heading};
use super::program_pools;
use super::stack_list::StackPrinter;
use crate::annotations::of_section;
use heapscribe_symbols::lossy;
use heapscribe_units::{bytes, count, counted, duration, percent, short_bytes};

/// Stacks of each section.
pub const STACKS: usize = 3;

/// All of it.
pub fn print(out: Out<'_>, answer: &Answer, top: usize, stacks: &mut StackPrinter<'_>) -> io::Result<()> {
    marks(out, answer, top)?;
    sections(out, answer, top, stacks)?;
    program_pools::print(out, answer, top, stacks)
}

/// A name as the program gave it, on one line.
fn shown(name: &[u8]) -> String {
    lossy(name)
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}

/// How large the heap was, where a ring has not evicted that.
fn heap_then(size_bytes: Option<u64>) -> String {
    size_bytes.map_or_else(|| "of unknown size".to_owned(), bytes)
}

fn marks(out: Out<'_>, answer: &Answer, top: usize) -> io::Result<()> {
    if answer.marks.is_empty() {
        return Ok(());
    }
    heading(out, "Marks")?;
    for mark in answer.marks.iter().take(top) {
        let whose = match answer.processes.get(mark.process) {
            Some(process) if answer.processes.len() > 1 => format!(" (process {})", process.pid),
            _ => String::new(),
        };
        let (first, heap) = (duration(mark.first_ns), heap_then(mark.heap_at_first_bytes));
        writeln!(out, "  {}{whose}: {first} after the start, the heap was {heap}", shown(&mark.name))?;
        if mark.count > 1 {
            let (last, heap) = (duration(mark.last_ns), heap_then(mark.heap_at_last_bytes));
            writeln!(
                out,
                "      {} in total, the last {last} after the start, at {heap}",
                counted(mark.count, "time")
            )?;
        }
    }
    more(out, answer.marks.len(), top)
}

fn sections(out: Out<'_>, answer: &Answer, top: usize, stacks: &mut StackPrinter<'_>) -> io::Result<()> {
    if answer.sections.is_empty() {
        return Ok(());
    }
    stacks.list(out, "Sections")?;
    for section in answer.sections.iter().take(top) {
        let a = section.allocated;
        writeln!(out, "  {}: {}", shown(&section.name), times(section))?;
        writeln!(out, "      allocated inside: {} in {}", bytes(a.bytes), counted(a.blocks, "block"))?;
        writeln!(out, "      calls inside: {}", kinds(&section.calls))?;
        if section.left.sections > 0 {
            writeln!(out, "      {}", left(section))?;
        }
        for (i, stack) in of_section(section, STACKS).into_iter().enumerate() {
            let share = percent(stack.held.bytes, a.bytes);
            let figures =
                format!("{share}: {} in {}", bytes(stack.held.bytes), counted(stack.held.blocks, "block"));
            stacks.entry(out, i + 1, &figures, stack.node)?;
        }
    }
    more(out, answer.sections.len(), top)
}

/// `3 allocations, 1 realloc`: calls by what they were for, none where there were none.
pub fn kinds(kinds: &CallCounts) -> String {
    let of_kind = [
        (kinds.allocations, "allocation"),
        (kinds.reallocs, "realloc"),
        (kinds.frees, "free"),
        (kinds.failed, "failed call"),
    ];
    let some: Vec<_> = of_kind.iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(*n, what)).collect();
    if some.is_empty() { "none".to_owned() } else { some.join(", ") }
}

/// What sections left behind, as far as their process was looked at.
fn left(section: &Section) -> String {
    let of = &section.left;
    let what = format!("{} in {}", bytes(of.live.bytes), counted(of.live.blocks, "block"));
    let pinned = short_bytes(of.pinned_bytes);
    let seen = match (of.sections, section.ended) {
        (1, 1) => String::new(),
        (n, ended) if n >= ended => {
            format!(" (in all; at most {} after one)", short_bytes(of.most_pinned_bytes))
        }
        (n, _) => {
            format!(
                " (after the {} looked at; at most {} after one)",
                count(n),
                short_bytes(of.most_pinned_bytes)
            )
        }
    };
    format!("ended; what it left pins {pinned} of nearly empty pages: {what}{seen}")
}

fn times(section: &Section) -> String {
    let open = section.count.saturating_sub(section.ended);
    let all = counted(section.count, "time");
    let took =
        format!("{} in total, the longest {}", duration(section.total_ns), duration(section.longest_ns));
    match (section.ended, open) {
        (0, _) => format!("{all}, none ended"),
        (_, 0) => format!("{all}, {took}"),
        _ => format!("{all}, {took}; {} did not end", count(open)),
    }
}

fn more(out: Out<'_>, all: usize, shown: usize) -> io::Result<()> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        rest => writeln!(out, "  ... {rest} more (see --json)"),
    }
}
