//! A map of lifetimes: blocks by when they were allocated and how long they lived.

use heapscribe_index::{AgeMap, Columns};
use serde::Serialize;

use super::answered::NoAnswer;
use super::ask::Ask;
use super::viewer::Viewer;
use super::wanted::Wanted;
use crate::model::{AGE_COLUMNS, AGES_NS, Unit, plain};

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
    let stacks = viewer.stacks()?;
    let wanted = Wanted::new(&stacks.calls, &ask.blocks).map_err(NoAnswer::Refused)?;
    let is_wanted = |key: &_| wanted.has_key(key) && wanted.has_tip(|| stacks.tip(key));
    let map = ranges.age_map(&columns, AGES_NS, &is_wanted);
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
