//! A flame graph as columns: a row is a box, after the box that it is on, and what is below it follows.

use std::collections::HashMap;

use heapscribe_analyze::answer::Amount;
use serde::Serialize;

use super::calls::Calls;
use super::function::FunctionId;
use super::limits::{LEVELS_MAX, NODES_MAX, PARTS};
use super::own::Figures;
use super::prune::{Cut, FlameBox, prune};
use super::trees::{Callees, Callers, Child, Tree};
use super::unit::Unit;

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
    /// The number of the library of each.
    modules: Vec<Option<u32>>,
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
    /// What each was in the figures that these are compared with, if they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before_bytes: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before_blocks: Vec<u64>,
    /// How many boxes directly below this one are too narrow, or too deep.
    left_out: Vec<u32>,
}

/// Draws one.
pub(crate) fn flame(calls: &Calls, figures: Figures<'_>, look: &Look) -> Flame {
    let focus = look.focus;
    let mut flame = match look.direction {
        Direction::Callees => of(calls, &Callees { calls, figures, focus }, look),
        Direction::Callers => of(calls, &Callers { calls, figures, focus }, look),
    };
    if figures.before.is_none() {
        (flame.before_bytes, flame.before_blocks) = (Vec::new(), Vec::new());
    }
    flame
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
            self.modules.push(function.module.map(|module| module.0));
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
        self.before_bytes.push(each.before.bytes);
        self.before_blocks.push(each.before.blocks);
        self.left_out.push(each.left_out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::own::Own;
    use super::super::sample::sample;
    use super::*;

    /// Boxes as lines: two spaces a level, name, bytes, bytes of its own.
    fn drawn(flame: &Flame) -> Vec<String> {
        let line = |row: usize| {
            let indent = "  ".repeat(flame.depth[row] as usize);
            let name = &flame.names[flame.name[row] as usize];
            format!("{indent}{name} {} {}", flame.bytes[row], flame.own_bytes[row])
        };
        (0..flame.depth.len()).map(line).collect()
    }

    #[test]
    fn recursion_is_drawn_as_it_is_and_counted_once() {
        let (calls, own) =
            sample(&[(&["main", "a", "b", "a"], 1, 10), (&["main", "a"], 1, 5), (&["main", "b"], 1, 1)]);
        let number = |name: &str| {
            let at = calls.functions().all().iter().position(|function| function.name == name);
            FunctionId(at.unwrap() as u32)
        };
        let check = |direction, focus: Option<&str>, path: &[&str], expected: &[&str]| {
            let (focus, path) = (focus.map(number), path.iter().map(|name| number(name)).collect());
            let look = Look { unit: Unit::Bytes, direction, focus, path };
            assert_eq!(
                drawn(&flame(&calls, Figures { own: &own, before: None }, &look)),
                expected,
                "{look:?}"
            );
        };
        let (callees, callers) = (Direction::Callees, Direction::Callers);
        let whole = ["all 16 0", "  main 16 0", "    a 15 5", "      b 10 0", "        a 10 10", "    b 1 1"];
        check(callees, None, &[], &whole);
        check(callees, Some("a"), &[], &["a 15 5", "  b 10 0", "    a 10 10"]);
        check(callees, Some("b"), &[], &["b 11 1", "  a 10 10"]);
        check(callees, None, &["main", "a"], &["a 15 5", "  b 10 0", "    a 10 10"]);
        // What is not there is where a path ends: `main` does not call `all`.
        let of_main = ["main 16 0", "  a 15 5", "    b 10 0", "      a 10 10", "  b 1 1"];
        check(callees, None, &["main", "all", "a"], &of_main);
        let up = ["all 16 0", "  a 15 0", "    b 10 0", "      a 10 0", "        main 10 10", "    main 5 5"];
        let up = [&up[..], &["  b 1 0", "    main 1 1"]].concat();
        check(callers, None, &[], &up);
        check(callers, Some("a"), &[], &["a 15 0", "  main 15 15"]);
        check(callers, Some("b"), &[], &["b 11 0", "  a 10 0", "    main 10 10", "  main 1 1"]);
        check(callers, None, &["a", "b"], &["b 10 0", "  a 10 0", "    main 10 10"]);
    }
    #[test]
    fn a_box_has_what_it_was_before_and_what_is_gone_has_no_width() {
        let (calls, own) = sample(&[(&["main", "a"], 1, 10), (&["main", "b"], 2, 6), (&["main", "c"], 3, 0)]);
        let before = |name: &str| match name {
            "a" => 4,
            "c" => 9,
            _ => 0,
        };
        let name = |id| calls.function(calls.node(id).function).name.as_str();
        let amounts = calls.tips().iter().map(|id| (*id, Amount { blocks: 1, bytes: before(name(*id)) }));
        let before = Own::new(&calls, amounts);
        for direction in [Direction::Callees, Direction::Callers] {
            let look = Look { direction, ..Look::default() };
            let flame = flame(&calls, Figures { own: &own, before: Some(&before) }, &look);
            assert_eq!((flame.bytes[0], flame.before_bytes[0]), (16, 13), "{look:?}");
            let at = flame.name.iter().position(|n| flame.names[*n as usize] == "a").unwrap();
            assert_eq!((flame.bytes[at], flame.before_bytes[at], flame.before_blocks[at]), (10, 4, 1));
            assert!(!flame.names.contains(&"c".to_owned()));
        }
    }
}
