//! Stacks by their numbers in processes, as nodes of one tree: for sums that were made elsewhere.

use super::builder::TreeBuilder;
use super::definitions::Definitions;
use crate::answer::{CallTree, NodeId};
use crate::input::History;
use heapscribe_wire::ids::StackId;

/// The nodes of some stacks.
#[derive(Debug, Default)]
pub struct Placed {
    /// The calls that lead to them.
    pub tree: CallTree,
    /// The node of each, in the order in which they were asked for.
    pub nodes: Vec<NodeId>,
    /// Definitions that could not be read, in words.
    pub problems: Vec<String>,
}

/// The nodes of these stacks, which ascend by process and number; below a node for each process, if these are to be
/// kept apart.
pub fn place<H: History>(history: &H, stacks: &[(usize, StackId)], splits_processes: bool) -> Placed {
    let (mut tree, mut placed) = (TreeBuilder::default(), Placed::default());
    for of_process in stacks.chunk_by(|a, b| a.0 == b.0) {
        tree.put_under(splits_processes.then_some(of_process[0].0));
        let mut definitions = Definitions::new(history.keeps_native());
        let read = history.definitions(of_process[0].0, &mut |id, definition| {
            definitions.take(id, definition, &mut tree);
        });
        placed.problems.extend(read.err());
        placed.nodes.extend(definitions.nodes(&mut tree, of_process.iter().map(|(_, stack)| *stack)));
    }
    Placed { tree: tree.into_tree(), ..placed }
}
