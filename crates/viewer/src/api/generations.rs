//! Generations: what was allocated between moments, what of it was live at the next one, and what was never freed.

use heapscribe_analyze::answer::Amount;
use serde::Serialize;

use super::answered::NoAnswer;
use super::ask::{Ask, Blocks, Show};
use super::viewer::Viewer;

/// A row for each generation.
#[derive(Serialize, Default)]
pub(super) struct GenerationRows {
    from_ns: Vec<u64>,
    to_ns: Vec<u64>,
    allocated_bytes: Vec<u64>,
    allocated_blocks: Vec<u64>,
    /// Live when the next one begins.
    retained_bytes: Vec<u64>,
    retained_blocks: Vec<u64>,
    /// Never freed.
    left_bytes: Vec<u64>,
    left_blocks: Vec<u64>,
}

/// What of each generation is asked for.
const SHOWS: [Show; 3] = [Show::Allocated, Show::Retained, Show::Left];

/// Asks for all of them at once.
pub(super) fn generations(viewer: &Viewer<'_>, ask: &Ask) -> Result<GenerationRows, NoAnswer> {
    let of_each = |pair: &[u64]| {
        let (from_ns, to_ns) = (Some(pair[0]), Some(pair[1]));
        SHOWS.map(|show| Blocks { show, from_ns, to_ns, ..ask.blocks.clone() })
    };
    let questions: Vec<Blocks> = ask.cuts_ns.windows(2).flat_map(of_each).collect();
    let totals = viewer.totals(&questions)?;
    let mut rows = GenerationRows::default();
    for (pair, totals) in ask.cuts_ns.windows(2).zip(totals.as_chunks().0) {
        rows.push(pair, totals);
    }
    Ok(rows)
}

impl GenerationRows {
    fn push(&mut self, pair: &[u64], [allocated, retained, left]: &[Amount; SHOWS.len()]) {
        self.from_ns.push(pair[0]);
        self.to_ns.push(pair[1]);
        self.allocated_bytes.push(allocated.bytes);
        self.allocated_blocks.push(allocated.blocks);
        self.retained_bytes.push(retained.bytes);
        self.retained_blocks.push(retained.blocks);
        self.left_bytes.push(left.bytes);
        self.left_blocks.push(left.blocks);
    }
}
