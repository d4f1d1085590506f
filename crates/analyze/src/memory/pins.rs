//! Who keeps pages that are nearly empty. Each page in memory, of the heap and not of a block's own mapping, of which blocks
//! take at most three quarters is charged in whole to the stacks whose blocks are in it, in proportion of the bytes that
//! these asked for in it. A block of 0 bytes counts as one of 1.

use std::collections::HashMap;

use super::answer::Pinned;
use super::charge::shares;
use super::limits::{PINNED_MAX_QUARTERS, PINNED_OF_QUARTERS};
use super::placed::Placed;
use super::regions::Class;
use super::sweep::{Heap, UsedPage};
use crate::answer::NodeId;

/// Whether a page is nearly empty.
pub(super) fn is_pinned(used: &UsedPage<'_>, class: Class) -> bool {
    used.page.is_resident
        && class.is_shared()
        && used.used_bytes * PINNED_OF_QUARTERS <= used.page.bytes * PINNED_MAX_QUARTERS
}

/// Charges pages to stacks.
#[derive(Debug, Default)]
pub(super) struct Pins {
    by_node: HashMap<u32, Pinned>,
    /// The last block that was counted: one that goes over several pages counts once.
    last: Option<usize>,
    weights: Vec<u64>,
    charged: Vec<u64>,
}

impl Pins {
    pub(super) fn page(&mut self, heap: &Heap<'_>, used: &UsedPage<'_>) {
        if !is_pinned(used, heap.regions[used.region].class) {
            return;
        }
        self.weights.clear();
        self.weights.extend(used.shares.iter().map(|share| share.live_bytes.max(1)));
        shares(used.page.bytes, &self.weights, &mut self.charged);
        for (share, charged) in used.shares.iter().zip(&self.charged) {
            let Placed { node, age_ns, .. } = heap.blocks[share.block];
            let new = || Pinned { node: NodeId(node), youngest_ns: u64::MAX, ..Pinned::default() };
            let of = self.by_node.entry(node).or_insert_with(new);
            of.blocks += u64::from(self.last != Some(share.block));
            of.live_bytes += share.live_bytes;
            of.resident_bytes += charged;
            of.youngest_ns = of.youngest_ns.min(age_ns);
            of.oldest_ns = of.oldest_ns.max(age_ns);
            self.last = Some(share.block);
        }
    }

    /// The stacks, most bytes first.
    pub(super) fn finish(self) -> Vec<Pinned> {
        let mut all: Vec<_> = self.by_node.into_values().collect();
        all.sort_by_key(|of| (std::cmp::Reverse(of.resident_bytes), of.node));
        all
    }
}
