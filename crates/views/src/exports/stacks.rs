//! The stacks of an answer as other tools want them: by their functions, the process on top where there are several.

use std::collections::BTreeMap;

use heapscribe_analyze::answer::{Answer, NodeId};
use heapscribe_symbols::{NamedFrame, NamedStacks, Resolver, lossy};

use crate::process_labels;

/// What stands for a stack that nothing is known of, as in a flame graph.
const UNKNOWN: &str = "[unknown stack]";

/// An answer with the names of its stacks.
pub struct ExportedStacks<'a> {
    /// The answer.
    pub answer: &'a Answer,
    names: NamedStacks<'a>,
    labels: BTreeMap<usize, String>,
}

impl<'a> ExportedStacks<'a> {
    /// Looks up the names of all stacks of an answer.
    pub fn look_up(answer: &'a Answer, resolver: &Resolver) -> ExportedStacks<'a> {
        let nodes = || answer.stacks.iter().map(|stack| stack.node);
        ExportedStacks {
            answer,
            names: NamedStacks::look_up(&answer.tree, nodes(), resolver),
            labels: process_labels::labels(&answer.tree, &answer.processes, nodes()),
        }
    }

    /// The calls of a stack, the innermost first; the last is the process, where the answer keeps several apart.
    pub fn frames(&self, stack: NodeId) -> Vec<NamedFrame> {
        let named = |name: &str| NamedFrame { function: Some(name.to_owned()), ..NamedFrame::default() };
        let process = process_labels::process(self.names.tree(), stack);
        let mut frames = match self.names.tree().is_unknown(stack) {
            true => vec![named(UNKNOWN)],
            false => self.names.frames(stack),
        };
        if process.is_some() && !self.names.tree().is_unknown(stack) {
            frames.pop();
        }
        frames.extend(process.and_then(|process| self.labels.get(&process)).map(|label| named(label)));
        frames
    }

    /// The command line that was recorded.
    pub fn command(&self) -> String {
        self.answer.command.iter().map(|part| lossy(part)).collect::<Vec<_>>().join(" ")
    }
}
