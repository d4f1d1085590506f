//! The stacks of a recording, with their names: looked up once, as every question is about some of them.

use std::collections::{BTreeSet, HashMap};

use heapscribe_analyze::answer::{Answer, NodeId};
use heapscribe_analyze::input::{History, ProcessFacts};
use heapscribe_analyze::placed::place;
use heapscribe_convert::ranges::Ranges;
use heapscribe_index::{Key, Question, Span};
use heapscribe_symbols::Resolver;
use heapscribe_views::coverage::is_glibc;
use heapscribe_wire::ids::StackId;

use crate::model::{CallId, Calls, Sources, labels};

/// The stacks, and where they end in the calls.
pub(super) struct Stacks {
    pub(super) calls: Calls,
    pub(super) sources: Sources,
    /// Whether the heap is that of glibc: its C library was loaded, and nothing in its place.
    pub(super) is_glibc: bool,
    /// By process and number, in the order of the tips; nothing where they are those of an answer.
    wanted: Vec<(usize, StackId)>,
}

impl Stacks {
    /// Of all blocks that were ever allocated; those of several processes are kept apart if this is wanted.
    pub(super) fn of_ranges<H: History>(
        ranges: &Ranges<'_, H>,
        processes: &[ProcessFacts],
        splits_processes: bool,
        resolver: &Resolver,
    ) -> Stacks {
        let all = ranges.ask(&Question::allocated(Span::ALL));
        let wanted: BTreeSet<_> = all.sums.iter().map(|(key, _)| (key.process as usize, key.stack)).collect();
        let wanted: Vec<_> = wanted.into_iter().collect();
        let placed = place(ranges.history(), &wanted, splits_processes);
        let labels = if splits_processes { labels(processes) } else { HashMap::new() };
        let (calls, sources) = Calls::new(&placed.tree, &placed.nodes, resolver, &labels);
        let is_glibc = is_glibc(&placed.tree.modules) && processes.iter().all(|of| of.heap.is_none());
        Stacks { calls, sources, is_glibc, wanted }
    }

    /// Of an answer, in its order; those of several processes are one, as it has them.
    pub(super) fn of_whole(answer: &Answer, resolver: &Resolver) -> Stacks {
        let nodes: Vec<NodeId> = answer.stacks.iter().map(|stack| stack.node).collect();
        let (calls, sources) = Calls::new(&answer.tree, &nodes, resolver, &HashMap::new());
        Stacks { calls, sources, is_glibc: false, wanted: Vec::new() }
    }

    /// Where a stack of a process ends.
    pub(super) fn tip(&self, key: &Key) -> CallId {
        self.position(key).map_or(self.calls.unknown(), |at| self.calls.tips()[at])
    }

    /// The place of a stack of a process among the tips.
    pub(super) fn position(&self, key: &Key) -> Option<usize> {
        self.wanted.binary_search(&(key.process as usize, key.stack)).ok()
    }
}
