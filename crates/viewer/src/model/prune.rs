//! A tree, cut to what can be seen: boxes that are wide enough, each with how many below it are not.

use std::cmp::Reverse;

use super::function::FunctionId;
use super::trees::{Child, Tree};
use super::unit::Unit;
use heapscribe_analyze::answer::Amount;

/// A box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FlameBox {
    pub(super) depth: u32,
    pub(super) function: FunctionId,
    pub(super) amount: Amount,
    pub(super) own: Amount,
    pub(super) before: Amount,
    /// How many boxes directly below it are too narrow, or too deep.
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
    /// At most so many levels.
    pub(super) levels_max: u32,
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
    let mut boxes = Vec::new();
    let mut open = Vec::new();
    boxes.push(open_box(tree, top, 0, (cut, least), &mut open));
    while let Some((depth, child)) = open.pop() {
        if boxes.len() >= cut.boxes_max && least < cut.unit.of(top.amount) {
            return None;
        }
        boxes.push(open_box(tree, &child, depth, (cut, least), &mut open));
    }
    Some(boxes)
}

/// A box; what is below it comes onto the stack of those that are to be opened, the widest on top.
fn open_box<T: Tree>(
    tree: &T,
    of: &Child<T::Node>,
    depth: u32,
    (cut, least): (Cut, u64),
    open: &mut Vec<(u32, Child<T::Node>)>,
) -> FlameBox {
    let below = tree.below(&of.node);
    let all = below.len();
    let is_drawn = |child: &Child<T::Node>| depth + 1 < cut.levels_max && cut.unit.of(child.amount) >= least;
    let mut drawn: Vec<_> = below.into_iter().filter(is_drawn).collect();
    drawn.sort_by_key(|child| (Reverse(cut.unit.of(child.amount)), child.function));
    let left_out = (all - drawn.len()) as u32;
    open.extend(drawn.into_iter().rev().map(|child| (depth + 1, child)));
    FlameBox { depth, function: of.function, amount: of.amount, own: of.own, before: of.before, left_out }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A box is its number of levels below, and its width: two boxes on it have a third of it each, in one function.
    struct Thirds;

    fn third(levels: u32, bytes: u64) -> Child<(u32, u64)> {
        let amount = Amount { blocks: 1, bytes };
        Child {
            function: FunctionId(levels),
            amount,
            own: Amount::default(),
            before: amount,
            node: (levels, bytes),
        }
    }

    impl Tree for Thirds {
        type Node = (u32, u64);

        fn root(&self) -> Child<(u32, u64)> {
            third(9, 19_683)
        }

        fn below(&self, (levels, bytes): &(u32, u64)) -> Vec<Child<(u32, u64)>> {
            let deeper = levels.checked_sub(1);
            deeper
                .map_or_else(Vec::new, |levels| vec![third(levels, bytes / 3), third(levels, bytes / 3 + 1)])
        }
    }

    fn check(cut: Cut, boxes: usize, least: u64, left_out: u32) {
        let (all, width) = prune(&Thirds, &Thirds.root(), cut);
        assert_eq!(
            (all.len(), width, all.iter().map(|each| each.left_out).sum::<u32>()),
            (boxes, least, left_out)
        );
        // A box is drawn after the one it is on, and before its narrower neighbor.
        for pair in all.windows(2) {
            assert!(pair[1].depth <= pair[0].depth + 1, "{pair:?}");
        }
        let second = all.iter().filter(|of| of.depth == 1);
        let second_level: Vec<u64> = second.map(|of| cut.unit.of(of.amount)).collect();
        assert!(second_level.is_sorted_by(|a, b| a >= b), "{second_level:?}");
    }

    #[test]
    fn narrow_deep_and_too_many_boxes_are_left_out_and_counted() {
        let all = Cut { unit: Unit::Bytes, parts: 1 << 40, boxes_max: usize::MAX, levels_max: u32::MAX };
        check(all, (1 << 10) - 1, 1, 0);
        check(Cut { levels_max: 3, ..all }, 7, 1, 8);
        check(Cut { parts: 9, ..all }, 7, 19_683 / 9, 8);
        check(Cut { parts: 1, ..all }, 1, 19_683, 2);
        check(Cut { unit: Unit::Blocks, ..all }, (1 << 10) - 1, 1, 0);
        let few = Cut { parts: 1 << 10, boxes_max: 7, ..all };
        let (boxes, _) = prune(&Thirds, &Thirds.root(), few);
        assert!((1..=7).contains(&boxes.len()), "{}", boxes.len());
    }

    #[test]
    fn of_nothing_there_is_one_box() {
        let cut = Cut { unit: Unit::Bytes, parts: 4_000, boxes_max: 10, levels_max: 10 };
        assert_eq!(prune(&Thirds, &third(0, 0), cut).0.len(), 1);
    }
}
