//! The part of a report about what lives long and is large.

use std::io;

use heapscribe_analyze::answer::{Amount, Answer, Patterns, Stack};
use heapscribe_analyze::findings::{Owners, long_lived};
use heapscribe_units::{about, bytes, counted, percent, short_bytes};

use super::estimate;
use super::findings::{long_lived_sentence, wrapped};
use super::out::Out;
use super::runtime_blocks::OfRuntime;
use super::stack_list::{StackPrinter, is_worth_showing};
use crate::own::Merged;

/// Prints who allocated such blocks, at most so many entries; nothing where there are none, or where that is not known.
pub(super) fn print(
    out: Out<'_>,
    answer: &Answer,
    top: usize,
    stacks: &mut StackPrinter<'_>,
) -> io::Result<()> {
    let is_large = |stack: &&Stack| stack.patterns.long_lived.blocks > 0;
    let of_runtime = OfRuntime::new(answer, stacks).0.into_keys().collect();
    let owners = Owners { of_runtime, ..Owners::default() };
    let Some(found) = long_lived(answer, &owners).filter(|found| found.all.blocks > 0) else {
        return Ok(());
    };
    stacks.list(out, "Large and long-lived")?;
    let sentence = format!("  {}", long_lived_sentence(&found, answer));
    wrapped(&sentence, stacks.width(), 2).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    let all = answer.stacks.iter().filter(is_large);
    let all = all.filter(|stack| !owners.of_runtime.contains(&stack.node));
    let merged = stacks.merge(all.map(|stack| (stack.node, stack.patterns.long_lived.bytes)));
    let whole = found.all.bytes;
    let shown = merged.iter().take(top).take_while(|of| is_worth_showing(of.figure, whole)).count();
    let is_estimated = answer.sampling.as_ref().is_some_and(|sampling| sampling.has_estimates());
    for (rank, of) in (1..).zip(&merged[..shown]) {
        let all = sum(answer, of, |patterns| patterns.long_lived);
        let blocks = estimate::about_counted(all.blocks, "block", is_estimated);
        let bytes = match is_estimated {
            true => format!("{} {}", about(), short_bytes(all.bytes)),
            false => bytes(all.bytes),
        };
        let freed = sum(answer, of, |patterns| patterns.long_lived_freed);
        let freed = match all.blocks.saturating_sub(freed.blocks) {
            0 => "all freed".to_owned(),
            kept if kept == all.blocks => "never freed".to_owned(),
            kept => format!("{} never freed", counted(kept, "block")),
        };
        let figures = format!("{}: {bytes} in {blocks}, {freed}", percent(of.figure, whole));
        stacks.merged(out, rank, &figures, of)?;
    }
    let rest = &merged[shown..];
    if rest.is_empty() {
        return Ok(());
    }
    let figure = rest.iter().map(|of| of.figure).fold(0, u64::saturating_add);
    writeln!(out, "  ... {}: {}", counted(rest.len() as u64, "more entry"), percent(figure, whole))
}

fn sum(answer: &Answer, of: &Merged, amount: fn(&Patterns) -> Amount) -> Amount {
    let mut sum = Amount::default();
    for (node, _) in &of.parts {
        if let Ok(at) = answer.stacks.binary_search_by_key(node, |stack| stack.node) {
            sum.add(&amount(&answer.stacks[at].patterns));
        }
    }
    sum
}
