//! The peak of one process by itself.

use heapscribe_wire::ids::StackId;

use super::amounts::{ByNode, add, at_least_0, holders};
use crate::answer::{NodeId, Peak};
use crate::passes::ProcessResults;

/// When a process held the most, and who did.
pub(super) fn own_peak(
    results: &ProcessResults,
    node_of: impl Fn(&StackId) -> NodeId,
    begin_ns: u64,
) -> Peak {
    let mut held = ByNode::new();
    results.held.held.iter().for_each(|(stack, of_stack)| add(&mut held, node_of(stack), *of_stack));
    let blocks = held.values().map(|held| held.blocks).sum::<i64>() + results.held.rest.blocks;
    Peak {
        bytes: at_least_0(results.peak.bytes),
        blocks: at_least_0(blocks),
        time_ns: results.peak.ns.saturating_sub(begin_ns),
        stacks: holders(&held),
    }
}
