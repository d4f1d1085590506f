//! A table of functions: what each allocated itself, and with all that it calls. A function that calls itself is counted
//! once for each stack.

use std::cmp::Reverse;

use heapscribe_analyze::answer::Amount;
use serde::Serialize;

use super::calls::{CallId, Calls};
use super::own::{Own, Unit};

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
}

/// What a table is sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Order {
    /// What functions allocated themselves.
    #[default]
    Own,
    /// With all that they call.
    Total,
}

/// Adds them up.
pub(crate) fn functions(calls: &Calls, own: &Own, unit: Unit, order: Order, rows_max: usize) -> FunctionRows {
    let mut sums = vec![(Amount::default(), Amount::default()); calls.functions().len()];
    for (id, node) in (0..).map(CallId).zip(calls.nodes()).skip(1) {
        let (of_own, inclusive) = &mut sums[node.function.0 as usize];
        of_own.add(&own.own(id));
        if node.is_outermost {
            inclusive.add(&own.inclusive(id));
        }
    }
    let mut rows: Vec<(usize, &(Amount, Amount))> =
        sums.iter().enumerate().filter(|(_, (_, inclusive))| *inclusive != Amount::default()).collect();
    let all = rows.len();
    rows.sort_by_key(|(_, (own, inclusive))| {
        let (own, inclusive) = (unit.of(*own), unit.of(*inclusive));
        Reverse(if order == Order::Own { (own, inclusive) } else { (inclusive, own) })
    });
    rows.truncate(rows_max);
    let mut table = FunctionRows { all, ..FunctionRows::default() };
    for (number, (own, inclusive)) in rows {
        let function = &calls.functions()[number];
        table.function.push(number as u32);
        table.name.push(function.name.clone());
        table.file.push(function.file.clone().unwrap_or_default());
        table.own_bytes.push(own.bytes);
        table.own_blocks.push(own.blocks);
        table.bytes.push(inclusive.bytes);
        table.blocks.push(inclusive.blocks);
    }
    table
}
