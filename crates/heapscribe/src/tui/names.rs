//! Names of code, looked up once for as long as the program runs: debug information is slow to read, and
//! the same stacks come again with every look.

use std::collections::HashMap;

use heapscribe_analyze::answer::{CallTree, NodeId};

use heapscribe_symbols::Resolver;
use heapscribe_symbols::{NamedFrame, NamedStacks};

/// What frames of the stacks seen so far are called. A frame is known by its module and its address.
#[derive(Debug, Default)]
pub(crate) struct NameCache(HashMap<Key, Vec<NamedFrame>>);

/// Path and build id of a module, address in it; whether the frame is a guess.
type Key = (Vec<u8>, Vec<u8>, u64, bool);

impl NameCache {
    /// Looks up what is not known yet of these stacks.
    pub(crate) fn learn(&mut self, tree: &CallTree, stacks: &[NodeId], resolver: &Resolver) {
        let is_new = |stack: &&NodeId| keys(tree, **stack).any(|(key, _)| !self.0.contains_key(&key));
        let new: Vec<NodeId> = stacks.iter().filter(is_new).copied().collect();
        if new.is_empty() {
            return;
        }
        let named = NamedStacks::look_up(tree, new.iter().copied(), resolver);
        for stack in new {
            for (key, node) in keys(tree, stack) {
                let guessed = key.3;
                let frame = tree.frames(node).next().map(|(_, frame)| named.lines(frame, guessed));
                self.0.entry(key).or_insert_with(|| frame.unwrap_or_default());
            }
        }
    }

    /// The lines of a stack, the innermost first; frames that were not learned are left out.
    pub(crate) fn frames(&self, tree: &CallTree, stack: NodeId) -> Vec<NamedFrame> {
        let lines = keys(tree, stack).filter_map(|(key, _)| self.0.get(&key)).flatten();
        lines.skip_while(|line| line.is_recorders()).cloned().collect()
    }
}

/// The frames of a stack by their keys, with their nodes, the innermost first.
fn keys(tree: &CallTree, stack: NodeId) -> impl Iterator<Item = (Key, NodeId)> + '_ {
    let mut guessed = false;
    tree.frames(stack).map(move |(node, frame)| {
        let module = frame.module.and_then(|m| tree.modules.get(m as usize));
        let (path, id) = module.map(|m| (m.path.clone(), m.build_id.clone())).unwrap_or_default();
        let is_guessed = guessed;
        guessed |= frame.guesses;
        ((path, id, frame.address, is_guessed), node)
    })
}
