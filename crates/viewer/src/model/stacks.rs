//! A table of stacks, each with its functions.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;

use super::calls::Calls;
use super::function::FunctionId;
use super::nodes::CallId;
use super::own::Own;
use super::unit::Unit;

/// The table, the stack with most first.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
pub(crate) struct StackRows {
    /// How many stacks there are in all.
    all: usize,
    names: Vec<String>,
    bytes: Vec<u64>,
    blocks: Vec<u64>,
    /// The functions of each, the innermost first: indices into `names`.
    functions: Vec<Vec<u32>>,
}

/// Lists them.
pub(crate) fn stacks(calls: &Calls, own: &Own, unit: Unit, rows_max: usize) -> StackRows {
    let mut rows: Vec<_> = own.allocating().collect();
    let mut table = StackRows { all: rows.len(), ..StackRows::default() };
    rows.sort_by_key(|(id, amount)| (Reverse(unit.of(*amount)), *id));
    rows.truncate(rows_max);
    let mut numbers = HashMap::new();
    for (id, amount) in rows {
        table.bytes.push(amount.bytes);
        table.blocks.push(amount.blocks);
        let functions = calls.callers(id).map(|at: CallId| {
            let function = calls.node(at).function;
            table.names_of(calls, function, &mut numbers)
        });
        let functions = functions.collect();
        table.functions.push(functions);
    }
    table
}

impl StackRows {
    fn names_of(&mut self, calls: &Calls, id: FunctionId, numbers: &mut HashMap<FunctionId, u32>) -> u32 {
        *numbers.entry(id).or_insert_with(|| {
            self.names.push(calls.function(id).name.clone());
            self.names.len() as u32 - 1
        })
    }
}
