//! What each thread allocated from each stack, and what of it is live at a moment: the rows of profiles and tables, where
//! one figure a stack is not enough.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_analyze::answer::{Amount, CallTree, NodeId};
use heapscribe_analyze::input::History;
use heapscribe_analyze::placed::place;
use heapscribe_index::Key;
use heapscribe_wire::ids::StackId;

use super::asked::ByKey;
use super::stacks::plain;

/// What one thread allocated from one stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackSample {
    /// Index of the process.
    pub process: usize,
    /// The thread, where it is known.
    pub thread: Option<u32>,
    /// The stack.
    pub node: NodeId,
    /// What it allocated.
    pub allocated: Amount,
    /// What of it is live at the moment.
    pub live: Amount,
}

/// The samples of two answers about one recording.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StackSamples {
    /// The calls that lead to the stacks.
    pub tree: CallTree,
    /// By process, thread and node; none is all 0.
    pub samples: Vec<StackSample>,
    /// Definitions that could not be read, in words.
    pub problems: Vec<String>,
}

impl StackSamples {
    /// Of what was allocated, and of what is live.
    pub fn new<H: History>(history: &H, allocated: &ByKey, live: &ByKey) -> StackSamples {
        let place_of = |key: &Key| (key.process as usize, key.stack);
        let keys = allocated.sums.iter().chain(&live.sums).map(|(key, _)| place_of(key));
        let wanted: Vec<(usize, StackId)> = keys.collect::<BTreeSet<_>>().into_iter().collect();
        let placed = place(history, &wanted, false);
        let mut rows: BTreeMap<(usize, Option<u32>, NodeId), [Amount; 2]> = BTreeMap::new();
        for (n, answer) in [allocated, live].into_iter().enumerate() {
            for (key, amount) in &answer.sums {
                let Ok(at) = wanted.binary_search(&place_of(key)) else { continue };
                let thread = (key.thread != Key::ANY_THREAD).then_some(key.thread);
                let row = rows.entry((key.process as usize, thread, placed.nodes[at]));
                row.or_default()[n].add(&plain(*amount));
            }
        }
        let sample = |((process, thread, node), [allocated, live]): (_, [Amount; 2])| StackSample {
            process,
            thread,
            node,
            allocated,
            live,
        };
        let some = rows.into_iter().filter(|(_, amounts)| *amounts != [Amount::default(); 2]);
        StackSamples { tree: placed.tree, samples: some.map(sample).collect(), problems: placed.problems }
    }
}
