//! The outcome of each rule as text: the verdict, the figure, and the stacks that break it.

use std::io;

use heapscribe_analyze::answer::NodeId;
use heapscribe_analyze::calls::StackCalls;
use heapscribe_analyze::estimate::Figure;

use super::annotations::kinds;
use super::findings::wrapped;
use super::out::{Out, heading};
use super::stack_list::StackPrinter;
use crate::check::judge::range;
use crate::check::rule::Rule;
use crate::check::suppress::{Kind, Suppression};
use crate::check::unit::Unit;
use crate::check::{Checked, Culprit, Evidence, Finding, Verdict, by_rule};
use heapscribe_symbols::{NamedFrame, NamedStacks};
use heapscribe_units::{about, bytes, count, counted, duration};

/// Processes in which a rule holds that have a line each.
const HOLDING_SHOWN: usize = 3;
/// Processes that break a rule whose stacks are shown.
const WITH_STACKS: usize = 3;
/// Processes that break a rule, or in which it is undecided, that have a line each.
const WITH_LINE: usize = 10;

/// Columns before a remark.
const REMARK: usize = 6;

/// Prints all of it.
pub fn print(out: Out<'_>, checked: &Checked, names: &NamedStacks<'_>, width: usize) -> io::Result<()> {
    let mut stacks = StackPrinter::new(names, width);
    for of_rule in by_rule(&checked.findings) {
        failing(out, checked, &of_rule.broken, &mut stacks)?;
        failing(out, checked, &of_rule.undecided, &mut stacks)?;
        let (of_one, of_all) = of_rule.holding.iter().partition::<Vec<&Finding>, _>(|f| f.process.is_some());
        if of_one.len() > HOLDING_SHOWN {
            writeln!(out, "{}", together(checked, &of_one))?;
            holding(out, checked, &of_all)?;
        } else {
            holding(out, checked, &of_rule.holding)?;
        }
    }
    suppressions(out, checked)?;
    heading(out, &summary(checked))
}

/// Processes that break a rule, or in which it is undecided, the worst first.
fn failing(
    out: Out<'_>,
    checked: &Checked,
    findings: &[&Finding],
    stacks: &mut StackPrinter<'_>,
) -> io::Result<()> {
    for (n, finding) in findings.iter().take(WITH_LINE).enumerate() {
        writeln!(out, "{}", line(checked, finding))?;
        remarks(out, finding, stacks.width())?;
        if n < WITH_STACKS {
            culprits(out, checked, finding, stacks)?;
        }
    }
    match findings.get(WITH_LINE..).unwrap_or_default() {
        [] => Ok(()),
        more => writeln!(out, "           {}", rest(more)),
    }
}

/// The findings that a rule forbids, each with what to try, and why it is undecided.
fn remarks(out: Out<'_>, finding: &Finding, width: usize) -> io::Result<()> {
    for reason in &finding.reasons {
        for text in [reason.line(), format!("Try: {}", reason.remedy)] {
            for line in wrapped(&format!("{:REMARK$}{text}", ""), width, REMARK) {
                writeln!(out, "{line}")?;
            }
        }
    }
    finding.why.iter().try_for_each(|why| writeln!(out, "{:REMARK$}{why}", ""))
}

fn culprits(
    out: Out<'_>,
    checked: &Checked,
    finding: &Finding,
    stacks: &mut StackPrinter<'_>,
) -> io::Result<()> {
    stacks.begin(&format!("{} of {}", finding.rule.shown(), checked.whose(finding)));
    let mut kinds = finding.reasons.iter().filter(|reason| reason.culprit.is_some());
    for (n, culprit) in finding.culprits.iter().enumerate() {
        let kind = kinds.next().map_or_else(String::new, |of| format!("{}: ", of.finding.kind.name()));
        let figures = kind + &figures(checked, finding, culprit);
        stacks.entry(out, n + 1, &figures, culprit.stack)?;
    }
    match finding.more {
        0 => Ok(()),
        more => writeln!(out, "      ... {} (see --top)", counted(more as u64, "more stack")),
    }
}

/// `... and 69 more processes, 1,234,567 bytes (1.18 MiB) in all (see --json)`.
fn rest(findings: &[&Finding]) -> String {
    let sum = findings.iter().filter_map(|finding| finding.found).map(|figure| figure.value).sum::<f64>();
    let adds_up = findings.iter().all(|finding| finding.rule.adds_up());
    let sum = if adds_up && sum > 0.0 {
        format!(", {} in all", findings[0].unit.shown(sum))
    } else {
        String::new()
    };
    format!("... and {}{sum} (see --json)", counted(findings.len() as u64, "more process"))
}

/// Processes in which a rule holds, a line for each.
fn holding(out: Out<'_>, checked: &Checked, findings: &[&Finding]) -> io::Result<()> {
    for finding in findings {
        writeln!(out, "{}", line(checked, finding))?;
        finding.why.iter().try_for_each(|why| writeln!(out, "      {why}"))?;
    }
    Ok(())
}

/// Many processes in which a rule holds, in one line with the one that has most.
fn together(checked: &Checked, all: &[&Finding]) -> String {
    let value = |finding: &Finding| finding.found.map_or(0.0, |figure| figure.value);
    // Of several with as much the first, as in reports.
    let most = all.iter().rev().max_by(|a, b| value(a).total_cmp(&value(b)));
    let most = most.map_or(String::new(), |most| match found(most) {
        found if value(most) > 0.0 => format!("; highest: {}{found}", whose(checked, most)),
        found => found,
    });
    let (rule, count) = (all[0].rule.shown(), format!("{} processes", count(all.len() as u64)));
    format!("{:<10} {rule} of {}{most}", Verdict::Holds.name(), count)
}

/// `BROKEN     max-peak 1.00 MiB of app (pid 100): 2,000,000 bytes (1.91 MiB)`.
pub fn line(checked: &Checked, finding: &Finding) -> String {
    let word = match finding.verdict {
        Verdict::Holds => "holds",
        Verdict::Broken => "BROKEN",
        Verdict::Undecided => "UNDECIDED",
    };
    format!("{word:<10} {} of {}{}", finding.rule.shown(), whose(checked, finding), found(finding))
}

/// `app #2 (pid 4711)`.
fn whose(checked: &Checked, finding: &Finding) -> String {
    let process = finding.process.and_then(|process| checked.processes.get(process));
    let process = process.filter(|process| process.pid != 0);
    let pid = process.map_or(String::new(), |process| format!(" (pid {})", process.pid));
    checked.whose(finding) + &pid
}

/// What was found, with the mark of an estimate.
pub fn found(finding: &Finding) -> String {
    finding.found.map_or(String::new(), |figure| {
        let is_estimated = is_estimate(&figure) && !finding.is_bounded;
        let about = if is_estimated { format!("{} ", about()) } else { String::new() };
        let is_forbidden = matches!(finding.rule, Rule::NoCalls(..));
        let limit = match (&finding.rule, finding.verdict) {
            (Rule::Grew(..), _) => format!(", limit {}", finding.unit.shown(finding.limit.floor())),
            (Rule::NoCalls(..) | Rule::NoFindings(_), _) => String::new(),
            (_, Verdict::Broken) if finding.unit == Unit::Part && !finding.is_bounded => String::new(),
            (_, Verdict::Broken) if figure.value > finding.limit => over(finding, &figure),
            _ => String::new(),
        };
        let is_finding = matches!(finding.rule, Rule::NoFindings(_));
        let none = figure.value == 0.0;
        let shown = match finding {
            _ if none && is_finding => "no findings".to_owned(),
            _ if none && is_forbidden => "no calls".to_owned(),
            of if of.is_bounded && is_estimate(&figure) => range(&figure, of.unit),
            of if of.unit == Unit::Part => part_beside(figure.value, of.limit),
            of => of.unit.shown(figure.value),
        };
        format!(": {about}{shown}{limit}")
    })
}

/// A part in as many digits as tell it from its limit: 100 of 101 were "99.0 %, 0.0 % over" 99.0 %.
fn part_beside(value: f64, limit: f64) -> String {
    let shown = |value: f64, digits: usize| format!("{:.digits$} %", value * 100.0);
    let digits = (1..=9).find(|digits| value == limit || shown(value, *digits) != shown(limit, *digits));
    shown(value, digits.unwrap_or(9))
}

/// `, 2.10 MiB over the limit`; of a figure that has bounds what it is over it by at least.
fn over(finding: &Finding, figure: &Figure) -> String {
    let is_open = finding.is_bounded && is_estimate(figure);
    let (least, value) = if is_open { ("at least ", figure.low) } else { ("", figure.value) };
    format!(", {least}{} over the limit", finding.unit.short((value - finding.limit).max(0.0)))
}

fn is_estimate(figure: &Figure) -> bool {
    figure.high > figure.low
}

/// What a stack has to do with it.
pub fn figures(checked: &Checked, finding: &Finding, culprit: &Culprit) -> String {
    let about = if culprit.is_estimated { format!("{} ", about()) } else { String::new() };
    about + &exact_figures(checked, finding, culprit)
}

fn exact_figures(checked: &Checked, finding: &Finding, culprit: &Culprit) -> String {
    match culprit.what {
        Evidence::Blocks(amount) if finding.unit == Unit::Calls => counted(amount.blocks, "call"),
        // Of blocks that others freed only the number is known.
        Evidence::Blocks(amount) if finding.unit == Unit::Findings && amount.bytes == 0 => {
            counted(amount.blocks, "block")
        }
        Evidence::Blocks(amount) if matches!(finding.unit, Unit::Bytes | Unit::Findings) => {
            format!("{} in {}", bytes(amount.bytes), counted(amount.blocks, "block"))
        }
        Evidence::Blocks(amount) => format!("{} of {}", counted(amount.blocks, "block"), bytes(amount.bytes)),
        Evidence::Calls(calls) => of_calls(checked, finding, &calls),
        Evidence::Grew(growth, now) => {
            let size = u64::try_from(growth.unsigned_abs()).unwrap_or(u64::MAX);
            let sign = if growth < 0 { '-' } else { '+' };
            let grew = format!("{sign}{}", finding.unit.shown(size as f64));
            format!("{grew}, now {} in {}", bytes(now.bytes), counted(now.blocks, "block"))
        }
    }
}

fn of_calls(checked: &Checked, finding: &Finding, calls: &StackCalls) -> String {
    let begin_ns = finding.process.and_then(|n| checked.processes.get(n)).map_or(0, |p| p.begin_mono_ns);
    let first = format!(", first {} after the start", duration(calls.first_ns.saturating_sub(begin_ns)));
    let first = if checked.has_times { first } else { String::new() };
    let blocks = match (calls.kinds.all() == calls.kinds.frees, calls.node == NodeId::ROOT) {
        (true, false) => " of blocks allocated here",
        (true, true) => " of unknown blocks",
        _ => "",
    };
    let bytes = if calls.bytes > 0 { format!(", {}", bytes(calls.bytes)) } else { String::new() };
    let worst = calls.worst_ns.map_or(String::new(), |ns| format!(", slowest {}", duration(ns)));
    format!("{}{blocks}{bytes}{first}{worst}", kinds(&calls.kinds))
}

/// A stack as text, the innermost frame first.
pub fn frames(names: &NamedStacks<'_>, stack: NodeId) -> Vec<String> {
    let shown = |frame: &NamedFrame| match frame.place() {
        Some(place) => format!("{} {place}", frame.name()),
        None => frame.name(),
    };
    names.frames(stack).iter().map(shown).collect()
}

fn suppressions(out: Out<'_>, checked: &Checked) -> io::Result<()> {
    let all = &checked.suppressions.all;
    let runtime = of_runtime(checked);
    if all.is_empty() && runtime.is_none() {
        return Ok(());
    }
    heading(out, "Suppressions")?;
    if let Some(line) = runtime {
        writeln!(out, "  {line}")?;
    }
    for one in all {
        writeln!(out, "  {}:{}: {}", checked.suppressions_file, one.line, suppression(one))?;
    }
    Ok(())
}

/// `built in: 4,096 bytes in 1 block that runtime libraries keep until the end (buffers of stdio)`.
pub fn of_runtime(checked: &Checked) -> Option<String> {
    let (of, purposes) = checked.suppressions.of_runtime();
    let blocks = counted(of.amount.blocks, "block");
    let what = format!("{} in {blocks} that runtime libraries keep until the end", bytes(of.amount.bytes));
    (of.stacks > 0).then(|| format!("built in: {what} ({})", purposes.join(", ")))
}

/// `leak:libgui suppressed 4,096 bytes in 1 block of 1 stack`.
pub fn suppression(one: &Suppression) -> String {
    let (text, stacks) = (one.text(), counted(one.stacks, "stack"));
    match one.kind {
        _ if one.stacks == 0 => format!("{text} was not used"),
        Kind::Leak => {
            let blocks = counted(one.amount.blocks, "block");
            format!("{text} suppressed {} in {blocks} of {stacks}", bytes(one.amount.bytes))
        }
        Kind::Alloc => format!("{text} allowed {} of {stacks}", counted(one.amount.blocks, "call")),
    }
}

/// `1 broken, 2 hold, 1 cannot be told`.
pub fn summary(checked: &Checked) -> String {
    let count = |verdict| count(checked.count(verdict) as u64);
    let (broken, undecided) = (count(Verdict::Broken), count(Verdict::Undecided));
    let hold = if checked.count(Verdict::Holds) == 1 { "holds" } else { "hold" };
    format!("{broken} broken, {undecided} undecided, {} {hold}.", count(Verdict::Holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_told_from_its_limit() {
        for (value, limit, expected) in [
            (100.0 / 101.0, 0.99, "99.01 %"),
            (0.5, 0.99, "50.0 %"),
            (0.99, 0.99, "99.0 %"),
            (0.990_000_1, 0.99, "99.00001 %"),
        ] {
            assert_eq!(part_beside(value, limit), expected);
        }
    }
}
