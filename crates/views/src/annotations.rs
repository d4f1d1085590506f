//! Which stacks of sections and pools are shown, in text as in JSON.

use heapscribe_analyze::answer::{Answer, Holder, NodeId, PoolStack, Section};

/// The first stacks of a section.
pub(crate) fn of_section(section: &Section, top: usize) -> Vec<&Holder> {
    let mut stacks: Vec<&Holder> = section.stacks.iter().collect();
    stacks.sort_by_key(|s| (std::cmp::Reverse(s.held.bytes), s.node));
    stacks.truncate(top);
    stacks
}

/// The first stacks of the pools: those that leaked most, then those that allocated most.
pub(crate) fn of_pools(answer: &Answer, top: usize) -> Vec<&PoolStack> {
    let mut stacks: Vec<&PoolStack> = answer.pools.stacks.iter().collect();
    stacks.sort_by_key(|s| (std::cmp::Reverse((s.leaked.bytes, s.allocated.bytes)), s.node));
    stacks.truncate(top);
    stacks
}

/// The stacks of so many in each list.
pub(crate) fn nodes(answer: &Answer, top: usize) -> impl Iterator<Item = NodeId> {
    let of_sections = answer.sections.iter().flat_map(move |section| of_section(section, top));
    let called = answer.sections.iter().flat_map(move |section| section.calls_by_stack.iter().take(top));
    of_sections
        .map(|s| s.node)
        .chain(called.map(|s| s.node))
        .chain(of_pools(answer, top).into_iter().map(|s| s.node))
}
