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

/// Asks for each.
pub(super) fn generations(viewer: &Viewer<'_>, ask: &Ask) -> Result<GenerationRows, NoAnswer> {
    let mut rows = GenerationRows::default();
    for pair in ask.cuts_ns.windows(2) {
        let total = |show| -> Result<Amount, NoAnswer> {
            let (from_ns, to_ns) = (Some(pair[0]), Some(pair[1]));
            let blocks = Blocks { show, from_ns, to_ns, ..ask.blocks.clone() };
            Ok(viewer.computed(&blocks)?.own.total())
        };
        let (allocated, retained, left) =
            (total(Show::Allocated)?, total(Show::Retained)?, total(Show::Left)?);
        rows.from_ns.push(pair[0]);
        rows.to_ns.push(pair[1]);
        rows.allocated_bytes.push(allocated.bytes);
        rows.allocated_blocks.push(allocated.blocks);
        rows.retained_bytes.push(retained.bytes);
        rows.retained_blocks.push(retained.blocks);
        rows.left_bytes.push(left.bytes);
        rows.left_blocks.push(left.blocks);
    }
    Ok(rows)
}
