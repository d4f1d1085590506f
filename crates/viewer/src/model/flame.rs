//! A flame graph as columns: a row is a box, after the box that it is on, and what is below it follows.

use std::collections::HashMap;

use heapscribe_analyze::answer::Amount;
use serde::Serialize;

use super::calls::{Calls, FunctionId};
use super::limits::{LEVELS_MAX, NODES_MAX, PARTS};
use super::own::{Own, Unit};
use super::prune::{Cut, FlameBox, prune};
use super::trees::{Callees, Callers, Child, Tree};

/// Which way a tree grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Direction {
    /// A box is on its caller.
    #[default]
    Callees,
    /// A box is on the function that it calls.
    Callers,
}

/// How figures are looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Look {
    pub(crate) unit: Unit,
    pub(crate) direction: Direction,
    /// Only this function, with what it calls or what calls it.
    pub(crate) focus: Option<FunctionId>,
    /// The boxes that lead from the first one to the one that is drawn in full width.
    pub(crate) path: Vec<FunctionId>,
}

/// A flame graph.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
pub(crate) struct Flame {
    /// Names that boxes have, and the source file or module of each, or "".
    names: Vec<String>,
    files: Vec<String>,
    /// The number of each name in addresses of this page.
    functions: Vec<u32>,
    /// Boxes on the way to the one that is drawn in full width, which is the first row: indices into `names`.
    path: Vec<u32>,
    /// What is less wide is not there.
    least: u64,
    depth: Vec<u32>,
    name: Vec<u32>,
    bytes: Vec<u64>,
    blocks: Vec<u64>,
    own_bytes: Vec<u64>,
    own_blocks: Vec<u64>,
    /// How many boxes directly below this one are too narrow, or too deep.
    left_out: Vec<u32>,
}

/// Draws one.
pub(crate) fn flame(calls: &Calls, own: &Own, look: &Look) -> Flame {
    let focus = look.focus;
    match look.direction {
        Direction::Callees => of(calls, &Callees { calls, own, focus }, look),
        Direction::Callers => of(calls, &Callers { calls, own, focus }, look),
    }
}

fn of<T: Tree>(calls: &Calls, tree: &T, look: &Look) -> Flame {
    let (mut at, mut path) = (tree.root(), Vec::new());
    for function in &look.path {
        // A box that this question has no more is no reason to show nothing: its caller is still there.
        let Some(next) = child(tree, &at, *function) else { break };
        path.push(at.function);
        at = next;
    }
    let cut = Cut { unit: look.unit, parts: PARTS, boxes_max: NODES_MAX, levels_max: LEVELS_MAX };
    let (boxes, least) = prune(tree, &at, cut);
    let mut flame = Flame { least, ..Flame::default() };
    let mut numbers = HashMap::new();
    flame.path = path.iter().map(|function| flame.number(calls, *function, &mut numbers)).collect();
    for each in &boxes {
        flame.push(calls, each, &mut numbers);
    }
    flame
}

fn child<T: Tree>(tree: &T, of: &Child<T::Node>, function: FunctionId) -> Option<Child<T::Node>> {
    tree.below(&of.node).into_iter().find(|child| child.function == function)
}

impl Flame {
    fn number(&mut self, calls: &Calls, id: FunctionId, numbers: &mut HashMap<FunctionId, u32>) -> u32 {
        *numbers.entry(id).or_insert_with(|| {
            let function = calls.function(id);
            self.names.push(function.name.clone());
            self.files.push(function.file.clone().unwrap_or_default());
            self.functions.push(id.0);
            self.names.len() as u32 - 1
        })
    }

    fn push(&mut self, calls: &Calls, each: &FlameBox, numbers: &mut HashMap<FunctionId, u32>) {
        let name = self.number(calls, each.function, numbers);
        let Amount { blocks, bytes } = each.amount;
        self.depth.push(each.depth);
        self.name.push(name);
        self.bytes.push(bytes);
        self.blocks.push(blocks);
        self.own_bytes.push(each.own.bytes);
        self.own_blocks.push(each.own.blocks);
        self.left_out.push(each.left_out);
    }
}
