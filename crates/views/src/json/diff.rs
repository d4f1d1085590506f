//! `heapscribe diff --json`: everything that the text has, with whole stacks.

use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::diff::{Change, Diff, Part};
use serde_json::{Value, json};

use super::parts::{FrameJson, RingJson};
use crate::comparison::{Compared, Sides};
use crate::losses;

/// Changes when a key changes its name or meaning.
const FORMAT: u32 = 1;

/// The whole object, with so many stacks in each direction.
pub fn object(diff: &Diff, sides: &Sides<'_>, top: usize) -> Value {
    let list = |changes: Vec<&Change>| list(diff, &changes, sides, top);
    json!({
        "format": FORMAT,
        "by": if sides.of_live { "live" } else { diff.measure.name() },
        "before": side(&sides.before, &diff.whole.before),
        "after": side(&sides.after, &diff.whole.after),
        "change": growth(diff, &diff.whole, sides),
        "grew": list(diff.grew().iter().collect()),
        "shrank": list(diff.shrank().iter().rev().collect()),
        "same": { "stacks": diff.same().len() },
    })
}

fn side(side: &Compared<'_>, whole: &Part) -> Value {
    let command: Vec<_> = side.answer.command.iter().map(|part| heapscribe_symbols::lossy(part)).collect();
    json!({
        "trace": side.trace,
        "range": Some(&side.range).filter(|range| !range.is_empty()),
        "command": command,
        "estimated": side.is_estimated,
        "complete": side.answer.complete,
        "lost_events": losses::lost_events(side.answer),
        "ring": RingJson::of_all(side.answer),
        "blocks": side.has_blocks.then_some(whole.amount.blocks),
        "bytes": whole.amount.bytes,
    })
}

fn amount(side: &Compared<'_>, Amount { blocks, bytes }: Amount) -> Value {
    json!({ "blocks": side.has_blocks.then_some(blocks), "bytes": bytes })
}

/// The growth in the figure that is compared, and its part of what was there before.
fn growth(diff: &Diff, change: &Change, sides: &Sides<'_>) -> Value {
    let [before, after] = [change.before, change.after].map(|part| part.amount);
    let signed = |before: u64, after: u64| number(i128::from(after) - i128::from(before));
    json!({
        "blocks": sides.have_blocks().then(|| signed(before.blocks, after.blocks)),
        "bytes": signed(before.bytes, after.bytes),
        "compared": number(change.growth),
        "percent": diff.percent(change).map(hundredths),
        "standard_error": (change.standard_error() * 10.0).round() / 10.0,
        "may_be_chance": change.may_be_chance(),
    })
}

fn hundredths(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}

/// JSON has no larger numbers that every reader takes.
fn number(n: i128) -> i64 {
    n.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

fn list(diff: &Diff, changes: &[&Change], sides: &Sides<'_>, top: usize) -> Value {
    let (shown, rest) = changes.split_at(top.min(changes.len()));
    let sum = |changes: &[&Change]| number(changes.iter().map(|change| change.growth).sum());
    json!({
        "stacks": changes.len(),
        "compared": sum(changes),
        "largest": shown.iter().map(|change| entry(diff, change, sides)).collect::<Vec<_>>(),
        "rest": { "stacks": rest.len(), "compared": sum(rest) },
    })
}

fn entry(diff: &Diff, change: &Change, sides: &Sides<'_>) -> Value {
    let [before, after] = diff.shares(change);
    let frames: Vec<_> = sides.frames(diff, change).into_iter().map(FrameJson::from).collect();
    json!({
        "frames": frames,
        "before": amount(&sides.before, change.before.amount),
        "after": amount(&sides.after, change.after.amount),
        "share_percent": { "before": hundredths(before), "after": hundredths(after), "points": hundredths(after - before) },
        "change": growth(diff, change, sides),
    })
}
