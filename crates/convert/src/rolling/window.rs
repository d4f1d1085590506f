//! Images as rows of a window: what tables and profiles have.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_analyze::answer::{Amount, NodeId};
use heapscribe_analyze::placed::place;
use heapscribe_wire::ids::StackId;

use super::image::Image;
use crate::opened_trace::Opened;
use crate::ranges::{StackSample, StackSamples};
use crate::tables::rows::{Row, Rows, Sum};

/// From when to when a window is, CLOCK_MONOTONIC ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its begin.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
}

/// The rows of these images, which are those of the trace by their numbers: of each thread and stack that allocated in the
/// window, or holds something at its end.
pub fn rows(images: &[Image], trace: &Opened, window: Window) -> Rows {
    let mut owners: BTreeMap<(usize, StackId, u32), [Sum; 2]> = BTreeMap::new();
    for (process, image) in images.iter().enumerate() {
        for ((stack, thread), sum) in &image.window {
            owners.entry((process, *stack, *thread)).or_default()[0].add(sum);
        }
        for ((stack, thread), of) in image.live.iter().filter(|_| !image.has_ended) {
            owners.entry((process, *stack, *thread)).or_default()[1].add(&of.allocated.without(&of.freed));
        }
    }
    owners.retain(|_, sums| *sums != <[Sum; 2]>::default());
    let wanted: BTreeSet<(usize, StackId)> = owners.keys().map(|(p, s, _)| (*p, *s)).collect();
    let wanted: Vec<(usize, StackId)> = wanted.into_iter().collect();
    let placed = place(&trace.recording(), &wanted, false);
    // Two numbers of stacks may be one place in code.
    let mut merged: BTreeMap<(usize, NodeId, u32), [Sum; 2]> = BTreeMap::new();
    for ((process, stack, thread), sums) in &owners {
        let Ok(at) = wanted.binary_search(&(*process, *stack)) else { continue };
        let into = merged.entry((*process, placed.nodes[at], *thread)).or_default();
        into.iter_mut().zip(sums).for_each(|(into, sum)| into.add(sum));
    }
    let Window { from_ns, to_ns } = window;
    let row = |((process, node, thread), [allocated, live]): ((usize, NodeId, u32), [Sum; 2])| {
        let thread = Some(thread);
        Row { process, thread, node, from_ns, to_ns, allocated, live }
    };
    Rows { tree: placed.tree, rows: merged.into_iter().map(row).collect(), problems: placed.problems }
}

/// The same for profiles.
pub fn samples(rows: &Rows) -> StackSamples {
    let amount = |sum: &Sum| Amount { blocks: sum.blocks, bytes: sum.bytes };
    let sample = |row: &Row| StackSample {
        process: row.process,
        thread: row.thread,
        node: row.node,
        allocated: amount(&row.allocated),
        live: amount(&row.live),
    };
    let mut samples: Vec<StackSample> = rows.rows.iter().map(sample).collect();
    samples.sort_by_key(|sample| (sample.process, sample.thread, sample.node));
    StackSamples { tree: rows.tree.clone(), samples, problems: rows.problems.clone() }
}
