//! The comparison of two traces: wholes, the stacks that grew, those that shrank, and what is missing.

use std::io::{self, Write as _};

use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::diff::{Change, Diff};
use heapscribe_analyze::measure::Measure;

use crate::comparison::Sides;

use super::layout::{Line, folded};
use super::stack_list::LINES_SHOWN;
use super::{Out, heading, losses};
use heapscribe_symbols::{NamedFrame, lossy};
use heapscribe_units::{bytes, count, counted, plus_minus, short_bytes};

/// Prints all of it, with so many stacks in each direction and so many columns in a line.
pub fn print(out: Out<'_>, diff: &Diff, sides: &Sides<'_>, top: usize, width: usize) -> io::Result<()> {
    let estimated = if sides.are_estimated() { " (estimated)" } else { "" };
    writeln!(out, "Compared: {}{estimated}", what(diff.measure, sides.of_live))?;
    for (word, side, part) in
        [("before", &sides.before, &diff.whole.before), ("after", &sides.after, &diff.whole.after)]
    {
        let command: Vec<_> = side.answer.command.iter().map(|part| lossy(part)).collect();
        let command = if command.is_empty() { String::new() } else { format!(" ({})", command.join(" ")) };
        let whole = amount(diff.measure, part.amount, side.has_blocks);
        let range = if side.range.is_empty() { String::new() } else { format!(", {}", side.range) };
        writeln!(out, "  {word:<7} {whole}: {}{command}{range}", side.trace)?;
    }
    writeln!(out, "  change  {}", change_of(diff, &diff.whole))?;
    let printer = Printer { diff, sides, top, width };
    printer.direction(out, "Grew", diff.grew().iter().collect())?;
    printer.direction(out, "Shrank", diff.shrank().iter().rev().collect())?;
    let same = sum(diff.same().iter().map(|change| change.after.amount));
    let same = amount(diff.measure, same, sides.after.has_blocks);
    heading(out, "As before")?;
    writeln!(out, "  {} with {same}.", counted(diff.same().len() as u64, "stack"))?;
    what_is_missing(out, sides)
}

fn what(measure: Measure, of_live: bool) -> &'static str {
    match measure {
        Measure::Count if of_live => "number of live blocks",
        _ if of_live => "live bytes",
        Measure::Peak => "bytes live at the peak of the heap",
        Measure::Leaked => "bytes never freed",
        Measure::Allocated => "bytes allocated",
        Measure::Count => "number of allocations",
        Measure::Temporary => "blocks freed before the next allocation",
    }
}

fn amount(measure: Measure, amount: Amount, has_blocks: bool) -> String {
    let (blocks, bytes) = (counted(amount.blocks, "block"), bytes(amount.bytes));
    match has_blocks {
        false => bytes,
        true if measure.counts_blocks() => format!("{blocks} of {bytes}"),
        true => format!("{bytes} in {blocks}"),
    }
}

fn sum(amounts: impl Iterator<Item = Amount>) -> Amount {
    amounts.fold(Amount::default(), |sum, amount| Amount {
        blocks: sum.blocks.saturating_add(amount.blocks),
        bytes: sum.bytes.saturating_add(amount.bytes),
    })
}

/// `+1,024 bytes (1.00 KiB), +12.3 %`: what was compared, and by what part of what was there before.
fn change_of(diff: &Diff, change: &Change) -> String {
    let measure = diff.measure;
    let figure = signed(measure, change.growth);
    let part = match diff.percent(change) {
        _ if change.growth == 0 => String::new(),
        None => ", new".to_owned(),
        Some(_) if measure.figure(change.after.amount) == 0 => ", gone".to_owned(),
        Some(percent) => format!(", {}", part_of(percent)),
    };
    let error = match change.standard_error() {
        error if error > 0.0 && measure.counts_blocks() => {
            format!(" {} {}", plus_minus(), count(error as u64))
        }
        error if error > 0.0 => format!(" {} {}", plus_minus(), short_bytes(error as u64)),
        _ => String::new(),
    };
    format!("{figure}{error}{part}")
}

/// By what part of what was there before. One that is rounded away has no sign.
fn part_of(percent: f64) -> String {
    if percent.abs() < 0.05 { "less than 0.1 %".to_owned() } else { format!("{percent:+.1} %") }
}

/// A difference of shares. One that is rounded away has no sign.
fn points(difference: f64) -> String {
    if difference.abs() < 0.05 { "0.0 points".to_owned() } else { format!("{difference:+.1} points") }
}

fn signed(measure: Measure, growth: i128) -> String {
    let size = u64::try_from(growth.unsigned_abs()).unwrap_or(u64::MAX);
    let size = if measure.counts_blocks() { counted(size, "block") } else { bytes(size) };
    match growth.signum() {
        1 => format!("+{size}"),
        // Both of its forms are below 0.
        -1 => format!("-{}", size.replace('(', "(-")),
        _ => format!("none, {size}"),
    }
}

/// What all lists of changes need.
struct Printer<'a> {
    diff: &'a Diff,
    sides: &'a Sides<'a>,
    top: usize,
    width: usize,
}

impl Printer<'_> {
    /// The changes in one direction, the largest first.
    fn direction(&self, out: Out<'_>, title: &str, changes: Vec<&Change>) -> io::Result<()> {
        heading(out, title)?;
        if changes.is_empty() {
            return writeln!(out, "  Nothing.");
        }
        let growth = |changes: &[&Change]| {
            signed(self.diff.measure, changes.iter().map(|change| change.growth).sum::<i128>())
        };
        writeln!(out, "  {}: {}.", counted(changes.len() as u64, "stack"), growth(&changes))?;
        let (shown, rest) = changes.split_at(self.top.min(changes.len()));
        for (n, change) in shown.iter().enumerate() {
            self.entry(out, n + 1, change)?;
        }
        if !rest.is_empty() {
            writeln!(out, "  ... {} more: {}", count(rest.len() as u64), growth(rest))?;
        }
        Ok(())
    }

    /// The lines of a change's stacks; of several stacks what is the same in all.
    fn lines(&self, change: &Change) -> Vec<Line> {
        let mut stacks = self.sides.stacks(self.diff, change).into_iter();
        let first = stacks.next().unwrap_or_default().into_iter().map(Line::from).collect();
        folded(stacks.fold(first, |lines: Vec<Line>, stack| {
            let others = stack.iter().map(Some).chain(std::iter::repeat(None));
            let both = |(line, other): (Line, Option<&NamedFrame>)| match other {
                Some(frame) => line.and_of(frame),
                None => line,
            };
            lines.into_iter().zip(others).map(both).collect()
        }))
    }

    fn entry(&self, out: Out<'_>, rank: usize, change: &Change) -> io::Result<()> {
        let measure = self.diff.measure;
        let chance = if change.may_be_chance() { " (samples may differ as much by chance)" } else { "" };
        writeln!(out, "{rank:>4}. {}{chance}", change_of(self.diff, change))?;
        let before = amount(measure, change.before.amount, self.sides.before.has_blocks);
        let after = amount(measure, change.after.amount, self.sides.after.has_blocks);
        writeln!(out, "      from {before} to {after}")?;
        let [before, after] = self.diff.shares(change);
        let points = points(after - before);
        writeln!(out, "      from {before:.1} % of the whole to {after:.1} %, {points}")?;
        let lines = self.lines(change);
        if lines.is_empty() {
            return writeln!(out, "      unknown stack");
        }
        for line in lines.iter().take(LINES_SHOWN) {
            writeln!(out, "      {}", line.text(self.width))?;
        }
        match lines.len().saturating_sub(LINES_SHOWN) {
            0 => Ok(()),
            more => writeln!(out, "      ... {} (see --json)", counted(more as u64, "more frame")),
        }
    }
}

fn what_is_missing(out: Out<'_>, sides: &Sides<'_>) -> io::Result<()> {
    let mut missing = Vec::new();
    for side in [&sides.before, &sides.after] {
        if side.has_events {
            writeln!(missing, "  Events lost in {}: {}.", side.trace, losses::lost_and_why(side.answer))?;
        }
        losses::names(&mut missing, &side.names.unnamed())?;
    }
    if missing.is_empty() {
        return Ok(());
    }
    heading(out, "What is missing")?;
    out.write_all(&missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rounded_away_has_no_sign() {
        let check = |difference, expected: &str| assert_eq!(points(difference), expected);
        check(-0.01, "0.0 points");
        check(0.04, "0.0 points");
        check(-0.05, "-0.1 points");
        check(12.34, "+12.3 points");
        assert_eq!(part_of(-0.049), "less than 0.1 %");
        assert_eq!(part_of(-0.05), "-0.1 %");
        assert_eq!(part_of(7.0), "+7.0 %");
    }
}
