//! Stacks for a picture that can be drawn: what is too narrow to be seen ends in the call that it comes from.
//!
//! A recursion that allocates on its way has thousands of stacks of thousands of calls. They are few nodes of the tree, but
//! written one by one, as flame graphs are, billions of names. Where they are too many, calls below a width are left out,
//! and the width is doubled until the rest can be written.

use std::collections::BTreeMap;

use heapscribe_analyze::answer::{CallTree, NodeId};

/// Calls of all stacks together that are written.
const CALLS_MAX: u64 = 1 << 20;
/// Parts of the whole that the narrowest call is, where any have to be left out; halved as often as is needed.
const PARTS: u64 = 1 << 14;

/// The stacks, and how many calls the narrowest is of the whole, if some were left out: one part in so many.
pub(super) fn narrowed(tree: &CallTree, stacks: Vec<(NodeId, u64)>) -> (Vec<(NodeId, u64)>, Option<u64>) {
    narrowed_to(tree, stacks, CALLS_MAX)
}

fn narrowed_to(
    tree: &CallTree,
    stacks: Vec<(NodeId, u64)>,
    calls_max: u64,
) -> (Vec<(NodeId, u64)>, Option<u64>) {
    let depths = depths(tree);
    let calls = |stacks: &mut dyn Iterator<Item = NodeId>| -> u64 {
        stacks.map(|stack| u64::from(depths[stack.0 as usize])).fold(0, u64::saturating_add)
    };
    if calls(&mut stacks.iter().map(|(stack, _)| *stack)) <= calls_max {
        return (stacks, None);
    }
    let whole = stacks.iter().map(|(_, width)| width).fold(0, |sum: u64, width| sum.saturating_add(*width));
    let mut parts = PARTS;
    loop {
        let wide = wide_enough(tree, &stacks, whole / parts);
        if parts == 1 || calls(&mut wide.keys().copied()) <= calls_max {
            return (wide.into_iter().collect(), Some(parts));
        }
        parts /= 2;
    }
}

/// How many calls lead to each node.
fn depths(tree: &CallTree) -> Vec<u32> {
    let mut depths = vec![0; tree.nodes.len()];
    for node in 1..depths.len() {
        depths[node] = depths[tree.nodes[node].parent.0 as usize] + 1;
    }
    depths
}

/// The stacks that are so wide; what is narrower ends in its caller, together with others if need be.
fn wide_enough(tree: &CallTree, stacks: &[(NodeId, u64)], least: u64) -> BTreeMap<NodeId, u64> {
    let mut widths = vec![0u64; tree.nodes.len()];
    stacks.iter().for_each(|(stack, width)| widths[stack.0 as usize] += width);
    let mut wide: BTreeMap<NodeId, u64> = BTreeMap::new();
    for node in (0..widths.len()).rev() {
        let width = widths[node];
        let is_outermost = tree.is_unknown(NodeId(node as u32));
        if width != 0 && (width >= least || is_outermost) {
            wide.insert(NodeId(node as u32), width);
        } else {
            widths[tree.nodes[node].parent.0 as usize] += width;
        }
    }
    wide
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::Node;

    use super::*;

    /// A chain of calls, each of which allocates one byte but the last, which allocates 60.
    fn chain(deep: u32) -> (CallTree, Vec<(NodeId, u64)>) {
        let nodes =
            (0..=deep).map(|n| Node { parent: NodeId(n.saturating_sub(1)), ..Node::default() }).collect();
        let stacks = (1..=deep).map(|n| (NodeId(n), if n == deep { 60 } else { 1 })).collect();
        (CallTree { nodes, modules: Vec::new() }, stacks)
    }

    #[test]
    fn few_calls_stay_as_they_are() {
        let (tree, stacks) = chain(10);
        assert_eq!(narrowed_to(&tree, stacks.clone(), 55), (stacks, None));
    }

    #[test]
    fn what_is_left_out_ends_in_its_caller_and_nothing_is_lost() {
        // Two deep calls of one byte each below one of 100.
        let parents = [0, 0, 1, 2, 1, 4];
        let nodes = parents.map(|parent| Node { parent: NodeId(parent), ..Node::default() }).to_vec();
        let tree = CallTree { nodes, modules: Vec::new() };
        let stacks = vec![(NodeId(1), 100_000), (NodeId(3), 1), (NodeId(5), 1)];
        let (kept, parts) = narrowed_to(&tree, stacks, 6);
        assert_eq!((kept, parts), (vec![(NodeId(1), 100_002)], Some(PARTS)));
        let (tree, stacks) = chain(1000);
        let (kept, parts) = narrowed_to(&tree, stacks.clone(), 10_000);
        let sum = |stacks: &[(NodeId, u64)]| stacks.iter().map(|(_, width)| width).sum::<u64>();
        assert_eq!(sum(&kept), sum(&stacks));
        assert!(parts.is_some_and(|parts| parts < PARTS) && kept.len() > 10, "{kept:?}");
    }
}
