//! Blocks that runtime libraries never free, on purpose: they are no leaks of the program.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_analyze::answer::{Answer, NodeId};

use super::stack_list::StackPrinter;
use crate::own::Merged;
use crate::runtime;

/// Stacks of blocks that runtime libraries keep: their purposes and bytes.
pub(super) struct OfRuntime(pub(super) BTreeMap<NodeId, (usize, u64)>);

impl OfRuntime {
    /// Those of an answer.
    pub(super) fn new(answer: &Answer, stacks: &StackPrinter<'_>) -> OfRuntime {
        let purposes = runtime::Purposes::new(stacks.names());
        let kept = purposes.kept(answer.stacks.iter());
        OfRuntime(kept.map(|(stack, purpose)| (stack.node, (purpose, stack.leaked.bytes))).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, and what they are for.
    pub(super) fn together(&self) -> (Merged, Vec<&'static str>) {
        let parts: Vec<(NodeId, u64)> = self.0.iter().map(|(node, (_, bytes))| (*node, *bytes)).collect();
        let purposes: BTreeSet<usize> = self.0.values().map(|(purpose, _)| *purpose).collect();
        let figure = parts.iter().map(|(_, bytes)| bytes).fold(0, |sum: u64, n| sum.saturating_add(*n));
        (Merged { figure, parts }, purposes.into_iter().map(runtime::name).collect())
    }
}
