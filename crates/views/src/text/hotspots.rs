//! Functions that allocate most, a line each, and under it the callers that explain it.

use std::io;

use crate::hotspots::{Caller, Hotspot, Hotspots};
use crate::text::Out;
use heapscribe_units::percent;

/// Lines of a function that are named.
const LINES_MAX: usize = 3;

/// Writes the heaviest so many; `amount` has the unit.
pub fn write(out: Out<'_>, found: &Hotspots, top: usize, amount: &dyn Fn(u64) -> String) -> io::Result<()> {
    writeln!(out, "{} in total, by the function that allocates", amount(found.whole))?;
    for hotspot in found.functions.iter().take(top) {
        let part = percent(hotspot.weight, found.whole);
        writeln!(out, "{part:>8}  {} in {}{}", amount(hotspot.weight), hotspot.name, place(hotspot))?;
        for Caller { name, weight, below } in &hotspot.callers {
            let (part, of) = (percent(*weight, found.whole), percent(*weight, *below));
            writeln!(out, "{part:>12}  {} through {name}, {of} of what it leads to", amount(*weight))?;
        }
    }
    if found.functions.is_empty() && found.whole != 0 {
        writeln!(out, "No function allocates more than 0.5 % of it.")?;
    }
    Ok(())
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
