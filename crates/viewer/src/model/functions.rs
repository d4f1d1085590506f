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
    let mut sums = vec![(Amount::default(), Amount::default()); calls.functions().all().len()];
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
        let function = &calls.functions().all()[number];
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

#[cfg(test)]
mod tests {
    use super::super::sample::sample;
    use super::*;

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
        let table = functions(&calls, &own, Unit::Bytes, Order::Own, 9);
        assert_eq!(rows(&table), [("a", 15, 15), ("[unknown stack]", 3, 3), ("b", 1, 11), ("main", 0, 16)]);
        assert_eq!((table.all, table.file[0].as_str(), table.blocks[0]), (4, "a.c", 2));
        let table = functions(&calls, &own, Unit::Bytes, Order::Total, 2);
        assert_eq!(rows(&table), [("main", 0, 16), ("a", 15, 15)]);
        let table = functions(&calls, &own, Unit::Blocks, Order::Own, 1);
        assert_eq!((table.name[0].as_str(), table.own_blocks[0]), ("b", 9));
        assert_eq!(table.all, 4);
    }
}
