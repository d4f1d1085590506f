//! What a process's numbers mean: names of marks and sections, moments of ticks, nodes of stacks.

use crate::answer::NodeId;
use crate::input::Clock;
use crate::stacks::{Definitions, StackTable, TreeBuilder};

/// A process, and what is needed to give its numbers names, times and nodes.
pub(crate) struct ProcessContext<'a> {
    /// Its index in the answer.
    pub(crate) process: usize,
    pub(crate) clock: &'a Clock,
    pub(crate) definitions: &'a Definitions,
    pub(crate) begin_ns: u64,
    /// From when on what is live is known, CLOCK_MONOTONIC ns.
    pub(crate) window_ns: u64,
}

impl ProcessContext<'_> {
    pub(super) fn name(&self, number: u32) -> Vec<u8> {
        let unknown = || format!("name {number}, which is not in the trace").into_bytes();
        self.definitions.names.get(&number).cloned().unwrap_or_else(unknown)
    }

    pub(super) fn time(&self, ticks: u64) -> u64 {
        self.clock.ns(ticks).saturating_sub(self.begin_ns)
    }

    /// The rows of a table with their nodes.
    pub(super) fn nodes<R: Default>(&self, table: StackTable<R>, tree: &mut TreeBuilder) -> Vec<(NodeId, R)> {
        let rows = table.into_sorted();
        let nodes = self.definitions.nodes(tree, rows.iter().map(|(stack, _)| *stack));
        nodes.into_iter().zip(rows).map(|(node, (_, row))| (node, row)).collect()
    }
}
