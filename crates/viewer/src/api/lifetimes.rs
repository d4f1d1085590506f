//! A map of lifetimes: blocks by when they were allocated and how long they lived.

use heapscribe_index::{AGES_NS, AgeMap, Key, KeyFilter};
use serde::Serialize;

use super::answered::{NoAnswer, span};
use super::ask::Ask;
use super::viewer::Viewer;
use super::wanted::Wanted;
use crate::model::{AGE_COLUMNS, Unit, plain};

/// Rows of ages, each with a cell for each column of time.
#[derive(Serialize, Default)]
pub(super) struct AgeRows {
    /// Where columns begin, and the last one ends, ns from the start.
    moments_ns: Vec<u64>,
    /// Where each row begins; the last one has no end.
    ages_ns: Vec<u64>,
    /// `freed[row][column]`: bytes or blocks, whichever is asked for.
    freed: Vec<Vec<u64>>,
    /// What was never freed, by column.
    left: Vec<u64>,
}

/// Adds them up.
pub(super) fn lifetimes(viewer: &Viewer<'_>, ask: &Ask) -> Result<AgeRows, NoAnswer> {
    let refused = || NoAnswer::Refused("nothing is known of lifetimes here".to_owned());
    let ranges = viewer.ranges.as_ref().ok_or_else(refused)?;
    let extent = ranges.extent();
    let bounds = ranges.age_bounds(&span(ranges, ask.blocks.from_ns, ask.blocks.to_ns), AGE_COLUMNS);
    let stacks = viewer.stacks()?;
    let wanted = Wanted::new(&stacks.calls, &ask.blocks).map_err(NoAnswer::Refused)?;
    let is_wanted = |key: &Key| wanted.has_key(key) && wanted.has_tip(|| stacks.tip(key));
    let filter: Option<KeyFilter<'_>> = if wanted.is_all() { None } else { Some(&is_wanted) };
    let map = ranges.age_map(&bounds, filter);
    let from_start = |ns: &u64| ns.saturating_sub(extent.begin_ns).min(extent.duration_ns.saturating_add(1));
    Ok(rows(&map, ask.look.unit, bounds.moments_ns().iter().map(from_start).collect()))
}

fn rows(map: &AgeMap, unit: Unit, moments_ns: Vec<u64>) -> AgeRows {
    let row = |amounts: &Vec<_>| amounts.iter().map(|amount| unit.of(plain(*amount))).collect();
    let freed: Vec<Vec<u64>> = map.freed.iter().map(row).collect();
    let born: Vec<u64> = row(&map.born);
    let freed_of = |column: usize| freed.iter().map(|row| row[column]).sum::<u64>();
    AgeRows {
        moments_ns,
        ages_ns: AGES_NS.to_vec(),
        left: born.iter().enumerate().map(|(column, born)| born.saturating_sub(freed_of(column))).collect(),
        freed,
    }
}
