//! Annotations on their way into the answer: numbers become names, ticks become ns, stacks nodes; sections of
//! one name are one, whichever process they are of.

use std::collections::BTreeMap;

use heapscribe_formats::ResidentSample;

use super::amounts::{ByNode, add, at_least_0, holders, sum};
use super::context::ProcessContext;
use crate::annotations::SectionSums;
use crate::answer::{CallCounts, Holder, Mark, Section, StackCalls};
use crate::passes::ProcessResults;
use crate::peak::Held;
use crate::stacks::TreeBuilder;

/// The annotations of all processes so far.
#[derive(Debug, Default)]
pub(super) struct AnnotationAssembly {
    marks: Vec<Mark>,
    sections: BTreeMap<Vec<u8>, Section>,
}

impl AnnotationAssembly {
    /// Takes the marks and sections of a process, and looks at its memory.
    pub(super) fn take(
        &mut self,
        context: &ProcessContext<'_>,
        results: &mut ProcessResults,
        resident: &[ResidentSample],
        tree: &mut TreeBuilder,
    ) {
        let annotations = &mut results.sums.annotations;
        let moments = annotations.moments();
        let level = |ticks: u64| {
            let at = moments.binary_search(&ticks).unwrap_or(usize::MAX);
            let bytes = at_least_0(results.at_marks.get(at).copied().unwrap_or(0));
            (context.clock.ns(ticks) >= context.window_ns).then_some(bytes)
        };
        self.marks.extend(annotations.marks.iter().map(|(name, mark)| Mark {
            process: context.process,
            name: context.name(*name),
            count: mark.count,
            first_ns: context.time(mark.first_ticks),
            last_ns: context.time(mark.last_ticks),
            heap_at_first_bytes: level(mark.first_ticks),
            heap_at_last_bytes: level(mark.last_ticks),
        }));
        for (name, sums) in std::mem::take(&mut annotations.sections) {
            self.section(context, context.name(name), sums, tree);
        }
        for of in resident.iter().flat_map(|sample| &sample.sections) {
            // One that no event of the trace is of was evicted.
            if let Some(section) = self.sections.get_mut(&context.name(of.name.0)) {
                section.left.add(of);
            }
        }
    }

    fn section(
        &mut self,
        context: &ProcessContext<'_>,
        name: Vec<u8>,
        sums: SectionSums,
        tree: &mut TreeBuilder,
    ) {
        let new = || Section { name: name.clone(), ..Section::default() };
        let section = self.sections.entry(name.clone()).or_insert_with(new);
        section.count += sums.begun;
        section.ended += sums.ended;
        section.total_ns = section.total_ns.saturating_add(context.clock.span_ns(sums.ticks));
        section.longest_ns = section.longest_ns.max(context.clock.span_ns(sums.longest_ticks));
        let rows = context.nodes(sums.stacks, tree);
        let calls = rows.iter().map(|(node, row)| row.at_node(*node, context.clock));
        section.calls_by_stack.extend(calls);
    }

    /// The answer's parts: marks by time, sections by what was allocated inside.
    pub(super) fn finish(mut self) -> (Vec<Mark>, Vec<Section>) {
        self.marks.sort_by_key(|mark| mark.first_ns);
        let of_nodes = |section: Section| {
            let stacks = allocated(&section.calls_by_stack);
            let calls_by_stack = StackCalls::by_node(section.calls_by_stack.into_iter());
            let calls = calls_by_stack.iter().fold(CallCounts::default(), |mut all, stack| {
                all.add(&stack.kinds);
                all
            });
            Section { allocated: sum(&stacks), stacks, calls, calls_by_stack, ..section }
        };
        let mut sections: Vec<Section> = self.sections.into_values().map(of_nodes).collect();
        sections.sort_by_key(|section| std::cmp::Reverse(section.allocated.bytes));
        (self.marks, sections)
    }
}

/// What calls allocated, in the order of the nodes.
fn allocated(calls: &[StackCalls]) -> Vec<Holder> {
    let mut by_node = ByNode::new();
    for calls in calls {
        let blocks = calls.kinds.allocations.saturating_add(calls.kinds.reallocs);
        add(&mut by_node, calls.node, Held { blocks: blocks as i64, bytes: calls.bytes as i64 });
    }
    holders(&by_node)
}
