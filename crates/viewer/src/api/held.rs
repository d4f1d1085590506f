//! What lives long and is large: blocks that are live at a moment, by their age and their size.

use std::collections::BTreeMap;

use heapscribe_analyze::answer::Amount;
use heapscribe_index::{Question, SizeClass, Span};
use serde::Serialize;

use super::answered::{NoAnswer, reject_coarse};
use super::ask::{Ask, At, Blocks};
use super::viewer::Viewer;
use super::wanted::Wanted;
use crate::model::{HELD_COLUMNS, plain};

/// All cells together.
#[derive(Serialize, Default)]
struct Total {
    bytes: u64,
    blocks: u64,
}

/// Cells by size and age.
#[derive(Serialize, Default)]
pub(super) struct HeldRows {
    total: Total,
    /// The moment, ns from the start.
    at_ns: u64,
    /// The least age of each column, the youngest first: a column reaches to the next one, the last one to the start.
    ages_ns: Vec<u64>,
    /// Of each row the smallest and the largest size.
    from_bytes: Vec<u64>,
    to_bytes: Vec<u64>,
    /// By row and column.
    bytes: Vec<Vec<u64>>,
    blocks: Vec<Vec<u64>>,
}

/// Asks for the blocks of all ages at once.
pub(super) fn held(viewer: &Viewer<'_>, ask: &Ask) -> Result<HeldRows, NoAnswer> {
    let ranges = viewer.ranges()?;
    // Sizes are what it is about.
    reject_coarse(ranges, &Blocks { larger_bytes: Some(1), ..Blocks::default() })?;
    let extent = ranges.extent();
    let at_ns = match ask.blocks.at {
        At::Ns(ns) => ns.min(extent.duration_ns),
        At::Peak => viewer.over_time()?.peak().time_ns,
    };
    let ages_ns = ages(at_ns);
    let moment = match at_ns {
        ns if ns >= extent.duration_ns => Question::END,
        ns => extent.begin_ns.saturating_add(ns),
    };
    let chosen = ranges.span(ask.blocks.from_ns, ask.blocks.to_ns);
    let questions = ages_ns.iter().enumerate().map(|(n, age_ns)| {
        // Who is older than all that is known was allocated at the start, or before.
        let from_ns = ages_ns.get(n + 1).map_or(0, |next| extent.begin_ns + (at_ns - next) + 1);
        let born = Span { from_ns, to_ns: extent.begin_ns + (at_ns - age_ns) + 1 };
        Question::generation(born.and(&chosen), moment)
    });
    let stacks = viewer.stacks()?;
    let wanted = Wanted::new(&stacks.calls, &ask.blocks).map_err(NoAnswer::Refused)?;
    let mut cells = BTreeMap::<SizeClass, Vec<Amount>>::new();
    ranges.ask_each(&questions.collect::<Vec<_>>(), &mut |column, answer| {
        let sums = answer.sums.iter();
        for (key, amount) in sums.filter(|(key, _)| wanted.has_key(key) && wanted.has_tip(|| stacks.tip(key)))
        {
            let row = cells.entry(key.size).or_insert_with(|| vec![Amount::default(); ages_ns.len()]);
            row[column].add(&plain(*amount));
        }
    });
    Ok(rows(at_ns, ages_ns, cells))
}

fn rows(at_ns: u64, ages_ns: Vec<u64>, cells: BTreeMap<SizeClass, Vec<Amount>>) -> HeldRows {
    let mut total = Amount::default();
    let mut rows = HeldRows { at_ns, ages_ns, ..HeldRows::default() };
    for (class, row) in cells {
        row.iter().for_each(|amount| total.add(amount));
        let from_bytes = class.min_bytes();
        rows.from_bytes.push(from_bytes);
        rows.to_bytes.push(from_bytes.saturating_mul(2).saturating_sub(1).max(from_bytes));
        rows.bytes.push(row.iter().map(|amount| amount.bytes).collect());
        rows.blocks.push(row.iter().map(|amount| amount.blocks).collect());
    }
    HeldRows { total: Total { bytes: total.bytes, blocks: total.blocks }, ..rows }
}

/// Where the columns begin: each is twice as old as the one before it.
fn ages(at_ns: u64) -> Vec<u64> {
    let mut ages: Vec<u64> = (1..HELD_COLUMNS).map(|halves| at_ns >> halves).chain([0]).collect();
    ages.reverse();
    ages.dedup();
    ages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_halves_of_each_other() {
        assert_eq!(ages(1280), [0, 10, 20, 40, 80, 160, 320, 640]);
        assert_eq!(ages(3), [0, 1]);
        assert_eq!(ages(0), [0]);
    }
}
