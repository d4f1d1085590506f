//! The functions of a tree's nodes, by number: frames are few, nodes may be millions.

use std::collections::HashMap;

use heapscribe_analyze::answer::{CallTree, Frame, NodeId};
use heapscribe_symbols::{NamedFrame, NamedStacks};

use crate::allocator::is_allocator;
use crate::own::Identity;

/// An index into the functions; 0 is the unknown stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct FunctionId(pub(super) u32);

/// A frame without a name is taken for its caller's, so often in a row: it is a runtime's code in C.
const NAMELESS_MAX: usize = 2;

/// A line of a frame; inlined functions stand before the one they are in.
struct Line {
    function: FunctionId,
    line: Option<u32>,
    is_allocators: bool,
}

/// A frame's lines.
struct Place {
    lines: Vec<Line>,
    is_nameless: bool,
    is_cut: bool,
}

/// The functions of all nodes that stacks run through.
pub(super) struct Functions {
    names: Vec<(String, Option<String>)>,
    places: Vec<Place>,
    /// The place of each node, plus 1; 0 for nodes that no stack runs through.
    of_nodes: Vec<u32>,
}

impl Functions {
    pub(super) fn of(names: &NamedStacks<'_>, stacks: &[(NodeId, u64)]) -> Functions {
        let unknown = ("[unknown stack]".to_owned(), None);
        let mut functions = Functions {
            names: vec![unknown],
            places: Vec::new(),
            of_nodes: vec![0; names.tree().nodes.len()],
        };
        let (mut numbers, mut known) = (HashMap::new(), HashMap::<Frame, u32>::new());
        for (stack, _) in stacks {
            for (node, frame) in names.tree().frames(*stack) {
                let of_node = functions.of_nodes[node.0 as usize];
                if of_node != 0 {
                    break;
                }
                let place = *known
                    .entry(*frame)
                    .or_insert_with(|| functions.add(names.lines_of(frame), &mut numbers));
                functions.of_nodes[node.0 as usize] = place + 1;
            }
        }
        functions
    }

    fn add(&mut self, lines: Vec<NamedFrame>, numbers: &mut HashMap<Identity, FunctionId>) -> u32 {
        let is_nameless = lines
            .iter()
            .all(|frame| frame.function.is_none() && frame.module.is_none() && frame.cut.is_none());
        let is_cut = lines.iter().any(|frame| frame.cut.is_some());
        let line = |(at, frame): (usize, &NamedFrame)| {
            let function = *numbers.entry(Identity::of_source(&lines, at)).or_insert_with(|| {
                self.names.push((frame.name(), frame.file.clone()));
                FunctionId(self.names.len() as u32 - 1)
            });
            Line { function, line: frame.line, is_allocators: frame.is_recorders() || is_allocator(frame) }
        };
        let lines = lines.iter().enumerate().map(line).collect();
        self.places.push(Place { lines, is_nameless, is_cut });
        self.places.len() as u32 - 1
    }

    fn place(&self, node: NodeId) -> Option<&Place> {
        let place = self.of_nodes.get(node.0 as usize)?.checked_sub(1)?;
        self.places.get(place as usize)
    }

    /// The functions of a node. A frame that nobody can name explains nothing, nor does the end of a stack that was cut,
    /// nor the allocator.
    pub(super) fn of_node(&self, node: NodeId) -> impl Iterator<Item = FunctionId> {
        let place = self.place(node).filter(|place| !place.is_nameless && !place.is_cut);
        let lines = place.into_iter().flat_map(|place| &place.lines);
        lines.filter(|line| !line.is_allocators).map(|line| line.function)
    }

    /// Whether any stack runs through a node.
    pub(super) fn is_used(&self, node: NodeId) -> bool {
        self.of_nodes[node.0 as usize] != 0
    }

    /// The function that a stack allocates in, and the line.
    pub(super) fn allocating(&self, tree: &CallTree, stack: NodeId) -> (FunctionId, Option<u32>) {
        let places = || tree.frames(stack).filter_map(|(node, _)| self.place(node));
        let is_own = |place: &&Place| !place.lines.iter().all(|line| line.is_allocators);
        let mut own = places().skip_while(|place| !is_own(place)).peekable();
        // Where nobody but the allocator is known, it is that.
        let innermost = own.peek().copied().or_else(|| places().next());
        let named = own.take(NAMELESS_MAX + 1).find(|place| !place.is_nameless).or(innermost);
        let lines = named.map(|place| &place.lines);
        let own = |lines: &'_ Vec<Line>| lines.iter().position(|line| !line.is_allocators).unwrap_or(0);
        let line = lines.and_then(|lines| lines.get(own(lines)));
        line.map_or((FunctionId::default(), None), |line| (line.function, line.line))
    }

    /// Who calls the function that a stack allocates in; not itself.
    pub(super) fn caller(&self, tree: &CallTree, stack: NodeId, function: FunctionId) -> Option<FunctionId> {
        let mut outwards = tree.frames(stack).flat_map(|(node, _)| self.of_node(node));
        outwards.find(|of| *of != function)
    }

    /// The name of a function and its source file.
    pub(super) fn name(&self, function: FunctionId) -> (&str, Option<&str>) {
        let (name, file) = &self.names[function.0 as usize];
        (name, file.as_deref())
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }
}
