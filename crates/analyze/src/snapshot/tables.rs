//! The tables of live blocks of a trace, and the way from one to what is live.

use std::collections::BTreeSet;

use heapscribe_formats::{
    LiveBlock, LiveRole, LiveTable, Problem, Process, Scratch, Source, Trace, TraceError,
};
use heapscribe_wire::head::DROP_COUNTERS;

use super::live::Snapshot;
use super::sums::{BlockSums, weight};
use crate::answer::{Amount, Dropped};
use crate::stacks::{Definitions, RateMeans, TreeBuilder};

/// Whether a trace is there for its tables: it has snapshots and no events. A recording that has lost all of
/// its events has another table.
pub fn is_one<S: Source>(trace: &Trace<S>) -> bool {
    trace.chunks().is_empty() && tables(trace).any(|(_, table)| table.role == LiveRole::Snapshot)
}

fn tables<S: Source>(trace: &Trace<S>) -> impl Iterator<Item = (&Process, &LiveTable)> {
    trace.processes().iter().flat_map(|process| process.live.iter().map(move |table| (process, table)))
}

/// Explains every table of a trace.
pub fn analyze<S: Source>(trace: &Trace<S>) -> Vec<Snapshot> {
    tables(trace).map(|(process, table)| of(trace, process, table)).collect()
}

fn of<S: Source>(trace: &Trace<S>, process: &Process, table: &LiveTable) -> Snapshot {
    let clock = trace.clock(process.index);
    let (mut sums, mut pools) = (BlockSums::default(), BlockSums::default());
    let mut tree = TreeBuilder::default();
    let mut problems: Vec<String> = trace.problems().iter().map(ToString::to_string).collect();
    let mut definitions = Definitions::new(trace.keeps_native());
    let mut scratch = Scratch::default();
    let read = trace.definitions(process.index, &mut scratch, |id, definition| {
        definitions.take(id, definition, &mut tree);
    });
    note(read, &mut problems);
    let means = definitions.means;
    let (mut seen, mut largest_pool_block_bytes) = (0u64, 0u64);
    let read = trace.blocks(process.index, table, &mut scratch, |block| {
        seen += 1;
        let age_ns = clock.age_ns(table.ticks.saturating_sub(block.birth_ticks));
        let of = if block.is_pool { &mut pools } else { &mut sums };
        if block.is_pool {
            largest_pool_block_bytes = largest_pool_block_bytes.max(block.size_bytes);
        }
        of.add(block, means.mean(block.rate), age_ns);
    });
    note(read, &mut problems);
    let unknown: BTreeSet<_> =
        [&sums, &pools].into_iter().filter_map(|of| of.unknown_rates(&means)).collect();
    problems.extend(unknown);
    let (nodes, stacks) = sums.stacks(&definitions, &mut tree);
    let (_, pool_stacks) = pools.stacks(&definitions, &mut tree);
    let end = process.end.as_ref();
    Snapshot {
        age_ns: process.info.as_ref().map_or(0, |info| table.mono_ns.saturating_sub(info.created_mono_ns)),
        process: process.clone(),
        host: trace.session().map(|session| session.host.clone()).unwrap_or_default(),
        table: table.clone(),
        live: sums.live,
        missing_blocks: table.blocks.saturating_sub(seen),
        lacks_end: end.is_none(),
        pools: pools.live,
        pools_estimate: pools.sampling(&means).map(|sampling| sampling.live),
        pool_stacks,
        largest_pool_block_bytes,
        threads: sums.threads(&definitions),
        sizes: sums.sizes.sizes(),
        ages: sums.ages.lifetimes(),
        sampling: sums.sampling(&means),
        dropped: Dropped::list(&end.map_or([0; DROP_COUNTERS], |end| end.drops)),
        nodes,
        stacks,
        tree: tree.into_tree(),
        problems,
    }
    .open_above()
}

/// Calls `visit` for each block of the heap in a snapshot, with what it stands for.
///
/// # Errors
/// Only when the trace cannot be read.
pub fn blocks<S: Source>(
    trace: &Trace<S>,
    snapshot: &Snapshot,
    mut visit: impl FnMut(&LiveBlock, Amount),
) -> Result<(), TraceError> {
    let index = snapshot.process.index;
    let mut means = RateMeans::default();
    trace.definitions(index, &mut Scratch::default(), |_, definition| means.note(definition))?;
    trace.blocks(index, &snapshot.table, &mut Scratch::default(), |block| {
        if !block.is_pool {
            let weight = weight(block, means.mean(block.rate));
            visit(block, Amount { blocks: weight.blocks, bytes: weight.bytes });
        }
    })?;
    Ok(())
}

fn note(read: Result<Vec<Problem>, TraceError>, problems: &mut Vec<String>) {
    match read {
        Ok(skipped) => problems.extend(skipped.iter().map(ToString::to_string)),
        Err(e) => problems.push(e.to_string()),
    }
}
