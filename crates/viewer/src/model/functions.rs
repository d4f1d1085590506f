//! A table of functions: what each allocated itself, and with all that it calls. A function that calls itself is counted
//! once for each stack.

use std::cmp::Reverse;

use heapscribe_analyze::answer::Amount;
use serde::Serialize;

use super::calls::Calls;
use super::nodes::CallId;
use super::own::{Figures, Own};
use super::unit::Unit;

/// The table, the function with most of its own first.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
pub(crate) struct FunctionRows {
    /// How many functions there are in all.
    all: usize,
    function: Vec<u32>,
    name: Vec<String>,
    file: Vec<String>,
    own_bytes: Vec<u64>,
    own_blocks: Vec<u64>,
    bytes: Vec<u64>,
    blocks: Vec<u64>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    before: Option<BeforeColumns>,
}

/// What each was in the figures that these are compared with.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
struct BeforeColumns {
    before_own_bytes: Vec<u64>,
    before_own_blocks: Vec<u64>,
    before_bytes: Vec<u64>,
    before_blocks: Vec<u64>,
}

/// What a table is sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Order {
    /// What functions allocated themselves.
    #[default]
    Own,
    /// With all that they call.
    Total,
    /// How much they have grown or shrunk themselves.
    Change,
    /// The same with all that they call.
    TotalChange,
}

/// What a function allocated itself, and with all that it calls.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Sums {
    own: Amount,
    inclusive: Amount,
}

/// Adds them up.
pub(crate) fn functions(
    calls: &Calls,
    figures: Figures<'_>,
    unit: Unit,
    order: Order,
    rows_max: usize,
) -> FunctionRows {
    let (after, before) = (sums(calls, figures.own), figures.before.map(|before| sums(calls, before)));
    let of_before = |n: usize| before.as_ref().map_or(Sums::default(), |before| before[n]);
    let is_there = |n: &usize| match order.is_of_changes() {
        // What has not changed would fill the table.
        true => order.key(unit, after[*n], of_before(*n)) != (0, 0),
        false => after[*n].inclusive != Amount::default() || of_before(*n).inclusive != Amount::default(),
    };
    let mut rows: Vec<usize> = (0..after.len()).filter(is_there).collect();
    rows.sort_by_cached_key(|n| Reverse(order.key(unit, after[*n], of_before(*n))));
    let all = rows.len();
    rows.truncate(rows_max);
    let mut table = FunctionRows {
        all,
        before: before.as_ref().map(|_| BeforeColumns::default()),
        ..FunctionRows::default()
    };
    for n in rows {
        table.push(calls, n, after[n], of_before(n));
    }
    table
}

/// By function.
fn sums(calls: &Calls, own: &Own) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); calls.functions().all().len()];
    for (id, node) in (0..).map(CallId).zip(calls.nodes()).skip(1) {
        let of = &mut sums[node.function.0 as usize];
        of.own.add(&own.own(id));
        if node.is_outermost {
            of.inclusive.add(&own.inclusive(id));
        }
    }
    sums
}

impl Order {
    /// Whether it is about what has changed.
    pub(crate) fn is_of_changes(self) -> bool {
        matches!(self, Order::Change | Order::TotalChange)
    }

    /// What is greater comes first.
    fn key(self, unit: Unit, after: Sums, before: Sums) -> (u64, u64) {
        let (own, total) = (unit.of(after.own), unit.of(after.inclusive));
        let change = own.abs_diff(unit.of(before.own));
        let total_change = total.abs_diff(unit.of(before.inclusive));
        match self {
            Order::Own => (own, total),
            Order::Total => (total, own),
            Order::Change => (change, total_change),
            Order::TotalChange => (total_change, change),
        }
    }
}

impl FunctionRows {
    fn push(&mut self, calls: &Calls, number: usize, after: Sums, before: Sums) {
        let function = &calls.functions().all()[number];
        self.function.push(number as u32);
        self.name.push(function.name.clone());
        self.file.push(function.file.clone().unwrap_or_default());
        self.own_bytes.push(after.own.bytes);
        self.own_blocks.push(after.own.blocks);
        self.bytes.push(after.inclusive.bytes);
        self.blocks.push(after.inclusive.blocks);
        if let Some(columns) = &mut self.before {
            columns.before_own_bytes.push(before.own.bytes);
            columns.before_own_blocks.push(before.own.blocks);
            columns.before_bytes.push(before.inclusive.bytes);
            columns.before_blocks.push(before.inclusive.blocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::sample;
    use super::*;

    fn plain(own: &Own) -> Figures<'_> {
        Figures { own, before: None }
    }

    /// Rows as name, own bytes, all bytes.
    fn rows(table: &FunctionRows) -> Vec<(&str, u64, u64)> {
        let all = table.name.iter().enumerate();
        all.map(|(n, name)| (name.as_str(), table.own_bytes[n], table.bytes[n])).collect()
    }

    #[test]
    fn a_function_that_calls_itself_counts_once() {
        let (calls, own) = sample(&[
            (&["main", "a", "b", "a"], 1, 10),
            (&["main", "a"], 1, 5),
            (&["main", "b"], 9, 1),
            (&[], 2, 3),
        ]);
        let table = functions(&calls, plain(&own), Unit::Bytes, Order::Own, 9);
        assert_eq!(rows(&table), [("a", 15, 15), ("[unknown stack]", 3, 3), ("b", 1, 11), ("main", 0, 16)]);
        assert_eq!((table.all, table.file[0].as_str(), table.blocks[0]), (4, "a.c", 2));
        let table = functions(&calls, plain(&own), Unit::Bytes, Order::Total, 2);
        assert_eq!(rows(&table), [("main", 0, 16), ("a", 15, 15)]);
        let table = functions(&calls, plain(&own), Unit::Blocks, Order::Own, 1);
        assert_eq!((table.name[0].as_str(), table.own_blocks[0]), ("b", 9));
        assert_eq!(table.all, 4);
    }
    #[test]
    fn what_is_gone_has_changed_most() {
        let (calls, own) = sample(&[(&["main", "a"], 1, 10), (&["main", "b"], 2, 6), (&["main", "c"], 0, 0)]);
        let name = |id| calls.function(calls.node(id).function).name.as_str();
        let bytes_of = |name: &str| if name == "c" { 50 } else { 5 };
        let amounts = calls.tips().iter().map(|id| (*id, Amount { blocks: 1, bytes: bytes_of(name(*id)) }));
        let before = Own::new(&calls, amounts);
        let figures = Figures { own: &own, before: Some(&before) };
        let table = functions(&calls, figures, Unit::Bytes, Order::Change, 9);
        assert_eq!(rows(&table), [("c", 0, 0), ("a", 10, 10), ("b", 6, 6), ("main", 0, 16)]);
        assert_eq!(table.before.unwrap().before_own_bytes, [50, 5, 5, 0]);
        let table = functions(&calls, figures, Unit::Bytes, Order::TotalChange, 2);
        assert_eq!(rows(&table), [("c", 0, 0), ("main", 0, 16)]);
        assert_eq!((table.all, table.before.unwrap().before_bytes), (4, vec![50, 60]));
    }
}
