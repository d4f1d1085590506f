//! Functions that allocate most, a line each, and under it the callers that explain it.

use std::io;

use crate::hotspots::{Caller, DirectCaller, Hotspot, Hotspots};
use crate::text::{Out, estimate};
use heapscribe_symbols::shown;
use heapscribe_units::{about, bytes, counted, percent, percent_cell, short_bytes};

/// Lines of a function that are named.
const LINES_MAX: usize = 3;

/// What weights are: blocks or bytes, and whether blocks were sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Blocks, and not bytes.
    pub is_blocks: bool,
    /// Figures are sums of what samples stand for.
    pub is_estimated: bool,
}

impl Unit {
    fn amount(self, n: u64) -> String {
        match (self.is_blocks, self.is_estimated) {
            (true, is_estimated) => estimate::about_counted(n, "block", is_estimated),
            (false, true) => format!("{} {}", about(), short_bytes(n)),
            (false, false) => bytes(n),
        }
    }
}

/// Writes the heaviest so many, each with so many callers.
pub fn write(out: Out<'_>, found: &Hotspots, (top, callers): (usize, usize), unit: Unit) -> io::Result<()> {
    let amount = |n: u64| unit.amount(n);
    let estimated = if unit.is_estimated { " (estimated from samples)" } else { "" };
    writeln!(out, "{} in total{estimated}, by the function that allocates", amount(found.whole))?;
    for hotspot in found.functions.iter().take(top) {
        let part = percent_cell(hotspot.weight, found.whole);
        writeln!(out, "{part:>8}  {} in {}{}", amount(hotspot.weight), shown(&hotspot.name), place(hotspot))?;
        for Caller { name, file, weight, below } in hotspot.callers.iter().take(callers) {
            let (part, of) = (percent_cell(*weight, found.whole), percent(*weight, *below));
            let name = distinct(name, file.as_deref(), hotspot);
            writeln!(out, "{part:>12}  {} through {name}, {of} of what it leads to", amount(*weight))?;
        }
        for DirectCaller { name, file, weight } in hotspot.called_by.iter().take(callers) {
            let (part, name) = (percent_cell(*weight, found.whole), distinct(name, file.as_deref(), hotspot));
            writeln!(out, "{part:>12}  {} called by {name}", amount(*weight))?;
        }
        if let (others @ 1.., weight) = hotspot.called_by_others {
            let (part, others) = (percent_cell(weight, found.whole), counted(others as u64, "other"));
            writeln!(out, "{part:>12}  {} called by {others}, at most 0.5 % by each", amount(weight))?;
        }
        let all = hotspot.callers.len() + hotspot.called_by.len();
        if all > callers {
            let more = counted((all - callers) as u64, "more caller");
            writeln!(out, "{:12}  and {more}: --callers {all} shows them", "")?;
        }
    }
    if found.functions.is_empty() && found.whole != 0 {
        writeln!(out, "No function allocates more than 0.5 % of it.")?;
    }
    Ok(())
}

/// The name of a caller, with its file where another of the function's callers has the same name.
fn distinct(name: &str, file: Option<&str>, hotspot: &Hotspot) -> String {
    let explain = hotspot.callers.iter().map(|of| &of.name);
    let alike = explain.chain(hotspot.called_by.iter().map(|of| &of.name)).filter(|other| *other == name);
    match file.filter(|_| alike.count() > 1) {
        Some(file) => format!("{} ({file})", shown(name)),
        None => shown(name),
    }
}

/// ` (file:line, line)`, as far as it is known.
fn place(hotspot: &Hotspot) -> String {
    let Some(file) = &hotspot.file else { return String::new() };
    let lines = hotspot.lines.iter().filter(|(line, _)| *line != 0);
    let mut lines: Vec<_> = lines.map(|(line, _)| line.to_string()).collect();
    if lines.len() > LINES_MAX {
        lines.truncate(LINES_MAX);
        lines.push("...".to_owned());
    }
    let colon = if lines.is_empty() { "" } else { ":" };
    format!(" ({file}{colon}{})", lines.join(", "))
}
