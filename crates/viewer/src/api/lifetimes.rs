//! A map of lifetimes: blocks by when they were allocated and how long they lived.

use heapscribe_index::{AgeMap, Columns, Key};
use serde::Serialize;

use super::answered::NoAnswer;
use super::ask::{Ask, Blocks};
use super::pattern::Pattern;
use super::stacks::Stacks;
use super::viewer::Viewer;
use crate::model::{AGE_COLUMNS, AGES_NS, Calls, Unit, plain};

/// Rows of ages, each with a cell for each column of time.
#[derive(Serialize, Default)]
pub(super) struct AgeRows {
    from_ns: u64,
    step_ns: u64,
    columns: usize,
    /// Where each row begins; the last one has no end.
    ages_ns: Vec<u64>,
    /// `freed[row][column]`: bytes or blocks, whichever is asked for.
    freed: Vec<Vec<u64>>,
    /// What was never freed, by column.
    left: Vec<u64>,
}

/// Reads the events from the begin of the range on.
pub(super) fn lifetimes(viewer: &Viewer<'_>, ask: &Ask) -> Result<AgeRows, NoAnswer> {
    let refused = || NoAnswer::Refused("nothing is known of lifetimes here".to_owned());
    let ranges = viewer.ranges.as_ref().ok_or_else(refused)?;
    let extent = ranges.extent();
    let from_ns = ask.blocks.from_ns.unwrap_or(0).min(extent.duration_ns);
    let to_ns = ask.blocks.to_ns.unwrap_or(u64::MAX).min(extent.duration_ns.saturating_add(1));
    let step_ns = to_ns.saturating_sub(from_ns).div_ceil(AGE_COLUMNS).max(1);
    let count = to_ns.saturating_sub(from_ns).div_ceil(step_ns) as usize;
    let columns = Columns { begin_ns: extent.begin_ns.saturating_add(from_ns), step_ns, count };
    let chosen = Chosen::of(viewer.stacks()?, &ask.blocks)?;
    let map = ranges.age_map(&columns, AGES_NS, &|key| chosen.has(key));
    Ok(rows(&map, ask.look.unit, from_ns, step_ns))
}

fn rows(map: &AgeMap, unit: Unit, from_ns: u64, step_ns: u64) -> AgeRows {
    let row = |amounts: &Vec<_>| amounts.iter().map(|amount| unit.of(plain(*amount))).collect();
    let freed: Vec<Vec<u64>> = map.freed.iter().map(row).collect();
    let born: Vec<u64> = row(&map.born);
    let freed_of = |column: usize| freed.iter().map(|row| row[column]).sum::<u64>();
    AgeRows {
        from_ns,
        step_ns,
        columns: born.len(),
        ages_ns: AGES_NS.to_vec(),
        left: born.iter().enumerate().map(|(column, born)| born.saturating_sub(freed_of(column))).collect(),
        freed,
    }
}

/// Which blocks are asked for, whenever they were born.
struct Chosen<'a> {
    stacks: &'a Stacks,
    blocks: &'a Blocks,
    /// By call: whether a stack that ends there is wanted; nothing if all are.
    tips: Option<Vec<bool>>,
}

impl<'a> Chosen<'a> {
    fn of(stacks: &'a Stacks, blocks: &'a Blocks) -> Result<Chosen<'a>, NoAnswer> {
        let is_all = blocks.with.is_empty() && blocks.without.is_empty();
        let tips = if is_all { None } else { Some(wanted(&stacks.calls, blocks)?) };
        Ok(Chosen { stacks, blocks, tips })
    }

    fn has(&self, key: &Key) -> bool {
        let Blocks { process, thread, size_bytes, .. } = self.blocks;
        let is_class = |size: u64| heapscribe_index::SizeClass::of(size) == key.size;
        process.is_none_or(|process| process == key.process)
            && thread.is_none_or(|thread| thread == key.thread)
            && size_bytes.is_none_or(is_class)
            && self.tips.as_ref().is_none_or(|tips| tips[self.stacks.tip(key).0 as usize])
    }
}

/// Which calls have the functions that are asked for among their callers, and none of those that are not.
fn wanted(calls: &Calls, blocks: &Blocks) -> Result<Vec<bool>, NoAnswer> {
    let pattern = |text: &str| match text {
        "" => Ok(None),
        text => Pattern::parse(text).map(Some).map_err(NoAnswer::Refused),
    };
    let (with, without) = (pattern(&blocks.with)?, pattern(&blocks.without)?);
    let functions = calls.functions().all().iter();
    let flags: Vec<(bool, bool)> = functions
        .map(|function| {
            let is =
                |pattern: &Option<Pattern>| pattern.as_ref().is_some_and(|pattern| pattern.is_of(function));
            (is(&with), is(&without))
        })
        .collect();
    let mut below = vec![(with.is_none(), false); calls.nodes().len()];
    for (n, node) in calls.nodes().iter().enumerate().skip(1) {
        let (caller, own) = (below[node.caller.0 as usize], flags[node.function.0 as usize]);
        below[n] = (caller.0 || own.0, caller.1 || own.1);
    }
    Ok(below.into_iter().map(|(wanted, unwanted)| wanted && !unwanted).collect())
}
