//! The same calls, drawn otherwise: without some functions, with a library as one box, with recursion drawn once. No
//! figure is lost: what a box that is not drawn allocated is that of the box which it was on.

use super::calls::Calls;
use super::function::{FunctionId, ModuleId};
use super::nodes::{CallId, Nodes};

/// What is drawn otherwise.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Shape {
    /// Functions without boxes: those on them are on their callers.
    pub(crate) hidden: Vec<FunctionId>,
    /// Libraries whose functions that call each other are one box.
    pub(crate) collapsed: Vec<ModuleId>,
    /// Whether a call of a function from within itself is drawn on its first box.
    pub(crate) merges_recursion: bool,
}

/// Calls of a shape, and where those have gone that they were made of.
#[derive(Debug, Default)]
pub(crate) struct Reshaped {
    pub(crate) calls: Calls,
    to: Vec<CallId>,
}

impl Reshaped {
    /// Draws calls in a shape.
    pub(crate) fn new(calls: &Calls, shape: &Shape) -> Reshaped {
        let mut is_hidden = vec![false; calls.functions().all().len()];
        for id in &shape.hidden {
            if let Some(is_hidden) = is_hidden.get_mut(id.0 as usize) {
                *is_hidden = true;
            }
        }
        let (mut nodes, mut to) = (Nodes::new(calls.node(CallId(0)).function), vec![CallId(0)]);
        for node in calls.nodes().iter().skip(1) {
            let caller = to[node.caller.0 as usize];
            let is_hidden = is_hidden[node.function.0 as usize];
            to.push(if is_hidden { caller } else { place(&mut nodes, calls, shape, caller, node.function) });
        }
        let unknown = to[calls.unknown().0 as usize];
        Reshaped { calls: calls.with_nodes(nodes.into_calls(), unknown), to }
    }

    /// The box that a call has become a part of.
    pub(crate) fn to(&self, id: CallId) -> CallId {
        self.to[id.0 as usize]
    }
}

/// The box of a function that is called from a box.
fn place(nodes: &mut Nodes, calls: &Calls, shape: &Shape, caller: CallId, function: FunctionId) -> CallId {
    let library = calls.function(function).module.filter(|module| shape.collapsed.contains(module));
    let function = library.map_or(function, |module| calls.functions().library(module));
    if library.is_some() && nodes.get(caller).function == function {
        return caller;
    }
    let is_same = |at: &CallId| nodes.get(*at).function == function;
    let first = if shape.merges_recursion { nodes.callers(caller).find(is_same) } else { None };
    first.unwrap_or_else(|| nodes.add(caller, function))
}

#[cfg(test)]
mod tests {
    use super::super::own::Own;
    use super::super::sample::sample;
    use super::*;

    /// Boxes as lines: two spaces a level, name, bytes with all on it, bytes of its own.
    fn drawn(calls: &Calls, own: &Own) -> Vec<String> {
        let line = |id: CallId| {
            let name = &calls.function(calls.node(id).function).name;
            let depth = calls.callers(id).count().saturating_sub(1);
            format!("{}{name} {} {}", "  ".repeat(depth), own.inclusive(id).bytes, own.own(id).bytes)
        };
        (1..calls.nodes().len() as u32)
            .map(CallId)
            .filter(|id| own.inclusive(*id).bytes > 0)
            .map(line)
            .collect()
    }

    #[test]
    fn what_is_not_drawn_is_on_its_caller() {
        let (calls, own) = sample(&[
            (&["main", "a", "b", "a", "c"], 1, 10),
            (&["main", "a", "c"], 1, 5),
            (&["main", "b"], 1, 1),
        ]);
        let number = |name: &str| {
            let at = calls.functions().all().iter().position(|function| function.name == name);
            FunctionId(at.unwrap() as u32)
        };
        let check = |shape: Shape, expected: &[&str]| {
            let shaped = Reshaped::new(&calls, &shape);
            let own = own.reshaped(&shaped);
            assert_eq!(drawn(&shaped.calls, &own), expected, "{shape:?}");
            assert_eq!(own.total().bytes, 16);
        };
        let plain = [
            "main 16 0",
            "  a 15 0",
            "    b 10 0",
            "      a 10 0",
            "        c 10 10",
            "    c 5 5",
            "  b 1 1",
        ];
        check(Shape::default(), &plain);
        let hidden = |names: &[&str]| Shape {
            hidden: names.iter().map(|name| number(name)).collect(),
            ..Shape::default()
        };
        check(hidden(&["b"]), &["main 16 1", "  a 15 0", "    a 10 0", "      c 10 10", "    c 5 5"]);
        check(hidden(&["a", "c"]), &["main 16 5", "  b 11 11"]);
        check(
            Shape { merges_recursion: true, ..Shape::default() },
            &["main 16 0", "  a 15 0", "    c 15 15", "  b 1 1"],
        );
    }

    #[test]
    fn functions_of_a_library_that_call_each_other_are_one_box() {
        let (calls, own) = sample(&[
            (&["main", "libx+0x10", "libx+0x20"], 1, 10),
            (&["main", "libx+0x10", "callback", "libx+0x20"], 1, 5),
            (&["main", "liby+0x10"], 1, 1),
        ]);
        let libx = calls.functions().modules().iter().position(|path| path == "/lib/libx").unwrap();
        let shape = Shape { collapsed: vec![ModuleId(libx as u32)], ..Shape::default() };
        let shaped = Reshaped::new(&calls, &shape);
        let boxes =
            ["main 16 0", "  [libx] 15 10", "    callback 5 0", "      [libx] 5 5", "  liby+0x10 1 1"];
        assert_eq!(drawn(&shaped.calls, &own.reshaped(&shaped)), boxes);
        let shape = Shape { merges_recursion: true, ..shape };
        let shaped = Reshaped::new(&calls, &shape);
        let boxes = ["main 16 0", "  [libx] 15 15", "  liby+0x10 1 1"];
        assert_eq!(drawn(&shaped.calls, &own.reshaped(&shaped)), boxes);
    }
}
