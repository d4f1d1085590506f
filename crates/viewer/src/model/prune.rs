//! A tree, cut to what can be seen: boxes that are wide enough, each with how many below it are not.

use std::cmp::Reverse;

use super::calls::FunctionId;
use super::own::Unit;
use super::trees::{Child, Tree};
use heapscribe_analyze::answer::Amount;

/// A box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FlameBox {
    pub(super) depth: u32,
    pub(super) function: FunctionId,
    pub(super) amount: Amount,
    pub(super) own: Amount,
    /// How many boxes directly below it are too narrow.
    pub(super) left_out: u32,
}

/// What a tree is cut to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    pub(super) unit: Unit,
    /// A box is at least one of so many parts of the first one.
    pub(super) parts: u64,
    /// At most so many boxes; else parts are made wider.
    pub(super) boxes_max: usize,
}

/// The boxes of a tree below one, each before those below it, the widest first; and the least width.
pub(super) fn prune<T: Tree>(tree: &T, top: &Child<T::Node>, cut: Cut) -> (Vec<FlameBox>, u64) {
    let mut parts = cut.parts.max(1);
    loop {
        let least = (cut.unit.of(top.amount) / parts).max(1);
        if let Some(boxes) = wider(tree, top, cut, least) {
            return (boxes, least);
        }
        parts /= 2;
    }
}

/// The boxes that are at least so wide; none if these are too many and could be fewer.
fn wider<T: Tree>(tree: &T, top: &Child<T::Node>, cut: Cut, least: u64) -> Option<Vec<FlameBox>> {
    let mut boxes =
        vec![FlameBox { depth: 0, function: top.function, amount: top.amount, own: top.own, left_out: 0 }];
    let mut open = Vec::new();
    push_below(tree, &top.node, (cut.unit, least), &mut boxes[0], &mut open);
    while let Some((depth, child)) = open.pop() {
        if boxes.len() >= cut.boxes_max && least < cut.unit.of(top.amount) {
            return None;
        }
        let Child { function, amount, own, node } = child;
        let mut this = FlameBox { depth, function, amount, own, left_out: 0 };
        push_below(tree, &node, (cut.unit, least), &mut this, &mut open);
        boxes.push(this);
    }
    Some(boxes)
}

/// Puts what is below a box on the stack of open ones, the widest on top.
fn push_below<T: Tree>(
    tree: &T,
    node: &T::Node,
    (unit, least): (Unit, u64),
    this: &mut FlameBox,
    open: &mut Vec<(u32, Child<T::Node>)>,
) {
    let (mut wide, narrow): (Vec<_>, Vec<_>) =
        tree.below(node).into_iter().partition(|child| unit.of(child.amount) >= least);
    this.left_out = narrow.len() as u32;
    wide.sort_by_key(|child| (Reverse(unit.of(child.amount)), child.function));
    open.extend(wide.into_iter().rev().map(|child| (this.depth + 1, child)));
}
