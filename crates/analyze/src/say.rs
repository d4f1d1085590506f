//! What programs said of themselves, on its way into the answer: numbers become names, ticks become ns,
//! stacks nodes; sections of one name are one, whichever process they are of.

use std::collections::BTreeMap;

use crate::amounts::{ByNode, add, add_amount, amount, at_least_0, holders, sum};
use crate::answer::{Amount, Holder, Mark, NodeId, PoolStack, Pools, Section};
use crate::calls::{self, Kinds, StackCalls};
use crate::counters::Row;
use crate::held::Held;
use crate::input::Clock;
use crate::nodes::{Definitions, Merger};
use crate::passes::FoundProcess;
use crate::table::Table;
use crate::told::SectionSums;

/// What was said so far, of all processes.
#[derive(Debug, Default)]
pub(crate) struct Said {
    marks: Vec<Mark>,
    sections: BTreeMap<Vec<u8>, Section>,
    pools: Pools,
    pool_stacks: BTreeMap<NodeId, PoolStack>,
}

/// A process that said something, and what is needed to understand it.
pub(crate) struct Speaker<'a> {
    /// Its index in the answer.
    pub(crate) process: usize,
    pub(crate) clock: &'a Clock,
    pub(crate) definitions: &'a Definitions,
    pub(crate) begin_ns: u64,
}

impl Speaker<'_> {
    pub(crate) fn name(&self, number: u32) -> Vec<u8> {
        let unknown = || format!("name {number}, which is not in the trace").into_bytes();
        self.definitions.names.get(&number).cloned().unwrap_or_else(unknown)
    }

    pub(crate) fn time(&self, ticks: u64) -> u64 {
        self.clock.ns(ticks).saturating_sub(self.begin_ns)
    }

    /// The rows of a table with their nodes.
    fn nodes<R: Default>(&self, table: Table<R>, merger: &mut Merger) -> Vec<(NodeId, R)> {
        let rows = table.into_sorted();
        let nodes = merger.merge(self.definitions, rows.iter().map(|(stack, _)| *stack));
        nodes.into_iter().zip(rows).map(|(node, (_, row))| (node, row)).collect()
    }
}

impl Said {
    /// Takes what a process said.
    pub(crate) fn take(&mut self, speaker: &Speaker<'_>, found: &mut FoundProcess, merger: &mut Merger) {
        let told = std::mem::take(&mut found.sums.told);
        let moments = told.moments();
        let level = |ticks: u64| {
            let at = moments.binary_search(&ticks).unwrap_or(usize::MAX);
            at_least_0(found.at_marks.get(at).copied().unwrap_or(0))
        };
        self.marks.extend(told.marks.iter().map(|(name, mark)| Mark {
            process: speaker.process,
            name: speaker.name(*name),
            count: mark.count,
            first_ns: speaker.time(mark.first_ticks),
            last_ns: speaker.time(mark.last_ticks),
            heap_at_first_bytes: level(mark.first_ticks),
            heap_at_last_bytes: level(mark.last_ticks),
        }));
        for (name, sums) in told.sections {
            self.section(speaker, speaker.name(name), sums, merger);
        }
        self.pools.unknown += told.pools.sums.unknown;
        let peak_bytes = at_least_0(found.pools_peak.bytes);
        if peak_bytes > self.pools.peak_bytes {
            self.pools.peak_bytes = peak_bytes;
            self.pools.peak_ns = found.pools_peak.ns.saturating_sub(speaker.begin_ns);
        }
        for (node, row) in speaker.nodes(told.pools.sums.stacks, merger) {
            self.pool(node, &row);
        }
    }

    fn section(&mut self, speaker: &Speaker<'_>, name: Vec<u8>, sums: SectionSums, merger: &mut Merger) {
        let new = || Section { name: name.clone(), ..Section::default() };
        let section = self.sections.entry(name.clone()).or_insert_with(new);
        section.count += sums.begun;
        section.ended += sums.ended;
        section.total_ns = section.total_ns.saturating_add(speaker.clock.span_ns(sums.ticks));
        section.longest_ns = section.longest_ns.max(speaker.clock.span_ns(sums.longest_ticks));
        let rows = speaker.nodes(sums.stacks, merger);
        let calls = rows.iter().map(|(node, row)| StackCalls::new(*node, row, speaker.clock));
        section.calls_by_stack.extend(calls);
    }

    fn pool(&mut self, node: NodeId, row: &Row) {
        let allocated = Amount { blocks: row.allocations, bytes: row.allocated_bytes };
        let freed = Amount { blocks: row.frees, bytes: row.freed_bytes };
        let leaked = amount(&Held::at_end(row));
        add_amount(&mut self.pools.allocated, &allocated);
        add_amount(&mut self.pools.freed, &freed);
        add_amount(&mut self.pools.leaked, &leaked);
        let new = PoolStack { node, ..PoolStack::default() };
        let stack = self.pool_stacks.entry(node).or_insert(new);
        add_amount(&mut stack.allocated, &allocated);
        add_amount(&mut stack.leaked, &leaked);
    }

    /// The answer's parts: marks by time, sections by what was allocated inside, pools.
    pub(crate) fn finish(mut self) -> (Vec<Mark>, Vec<Section>, Pools) {
        self.marks.sort_by_key(|mark| mark.first_ns);
        let of_nodes = |section: Section| {
            let stacks = given(&section.calls_by_stack);
            let calls_by_stack = calls::by_node(section.calls_by_stack.into_iter());
            let calls = calls_by_stack.iter().fold(Kinds::default(), |mut all, stack| {
                all.add(&stack.kinds);
                all
            });
            Section { allocated: sum(&stacks), stacks, calls, calls_by_stack, ..section }
        };
        let mut sections: Vec<Section> = self.sections.into_values().map(of_nodes).collect();
        sections.sort_by_key(|section| std::cmp::Reverse(section.allocated.bytes));
        self.pools.stacks = self.pool_stacks.into_values().collect();
        (self.marks, sections, self.pools)
    }
}

/// What calls were given, in the order of the nodes.
fn given(calls: &[StackCalls]) -> Vec<Holder> {
    let mut by_node = ByNode::new();
    for calls in calls {
        let blocks = calls.kinds.allocations.saturating_add(calls.kinds.reallocs);
        add(&mut by_node, calls.node, Held { blocks: blocks as i64, bytes: calls.bytes as i64 });
    }
    holders(&by_node)
}
