//! Several answers side by side, by stack: what a list, a flame graph or a comparison is made of.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_analyze::answer::{Amount, CallTree, NodeId};
use heapscribe_analyze::input::History;
use heapscribe_analyze::placed::place;
use heapscribe_wire::ids::StackId;

use super::asked::ByKey;

/// The figures of stacks in several answers.
#[derive(Clone, PartialEq, Debug)]
pub struct RangeStacks<const N: usize> {
    /// The calls that lead to them.
    pub tree: CallTree,
    /// The figures of each stack, one for each answer, in the order of the nodes; stacks of different processes may be
    /// one place in code.
    pub stacks: Vec<(NodeId, [Amount; N])>,
    /// Their sums.
    pub totals: [Amount; N],
    /// Definitions that could not be read, in words.
    pub problems: Vec<String>,
}

impl<const N: usize> RangeStacks<N> {
    /// Of answers about one recording; each process has stacks of its own if these are to be kept apart.
    pub fn new<H: History>(history: &H, answers: [&ByKey; N], splits_processes: bool) -> RangeStacks<N> {
        let place_of = |key: &heapscribe_index::Key| (key.process as usize, key.stack);
        let wanted: BTreeSet<(usize, StackId)> =
            answers.iter().flat_map(|answer| answer.sums.iter().map(|(key, _)| place_of(key))).collect();
        let wanted: Vec<_> = wanted.into_iter().collect();
        let placed = place(history, &wanted, splits_processes);
        let mut stacks = BTreeMap::<NodeId, [Amount; N]>::new();
        for (n, answer) in answers.iter().enumerate() {
            for (key, amount) in &answer.sums {
                let Ok(at) = wanted.binary_search(&place_of(key)) else { continue };
                stacks.entry(placed.nodes[at]).or_insert([Amount::default(); N])[n].add(&plain(*amount));
            }
        }
        RangeStacks {
            tree: placed.tree,
            stacks: stacks.into_iter().collect(),
            totals: answers.map(|answer| plain(answer.total())),
            problems: placed.problems,
        }
    }
}

/// Sums of a recording that is not damaged are never below 0.
pub(super) fn plain(amount: heapscribe_index::Amount) -> Amount {
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    Amount { blocks: number(amount.blocks), bytes: number(amount.bytes) }
}
