//! Times of calls on their way into the answer: worst calls of all processes side by side, their stacks as
//! nodes; and the calls that broke a rule of real time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use heapscribe_formats::{RuleViolation, Why};
use heapscribe_wire::ids::StackId;

use super::context::ProcessContext;
use crate::answer::{BrokenRule, CallKind, CallLatency, NodeId, Timeline, WorstCall};
use crate::latency::{Latency, SlowCall, StepTimes, Times};
use crate::stacks::TreeBuilder;

/// Worst calls of a kind that the answer has.
const WORST: usize = 10;

/// The times of the calls of all processes so far.
#[derive(Debug, Default)]
pub(super) struct LatencyAssembly {
    kinds: BTreeMap<CallKind, (Times, Vec<WorstCall>)>,
    steps: BTreeMap<u32, StepTimes>,
    broken: Vec<BrokenRule>,
}

impl LatencyAssembly {
    /// Takes what the calls of a process took.
    pub(super) fn take(&mut self, context: &ProcessContext<'_>, latency: Latency, tree: &mut TreeBuilder) {
        for (kind, times) in latency.kinds {
            let worst = worst(context, &times.worst, tree);
            let (all, of_all) = self.kinds.entry(kind).or_default();
            all.absorb(&times);
            of_all.extend(worst);
            of_all.sort_by_key(|call| (Reverse(call.took_ns), call.time_ns, call.process, call.thread));
            of_all.truncate(WORST);
        }
        for (step, times) in &latency.steps {
            self.steps.entry(*step).or_default().merge(times);
        }
    }

    /// Takes the call for which a process was stopped. A mark that was set from outside has no number in the
    /// process: it is the one of the rules.
    pub(super) fn broke(
        &mut self,
        context: &ProcessContext<'_>,
        broke: &RuleViolation,
        after_mark: Option<&[u8]>,
        tree: &mut TreeBuilder,
    ) {
        let node = context.definitions.nodes(tree, [broke.stack].into_iter()).first().copied();
        self.broken.push(BrokenRule {
            why: broke.why,
            name: match (broke.name.0, broke.why) {
                (0, Why::Mark) => after_mark.unwrap_or_default().to_vec(),
                (0, _) => Vec::new(),
                (name, _) => context.name(name),
            },
            call: broke.call,
            size_bytes: broke.size_bytes,
            time_ns: context.time(broke.ticks),
            process: context.process,
            thread: broke.thread.0,
            node: node.unwrap_or(NodeId::ROOT),
        });
    }

    /// Puts times into the steps of the timeline, each of which has so many of the grid's.
    pub(super) fn over_time(&self, finer: u32, timeline: &mut Timeline) {
        for (step, times) in &self.steps {
            if let Some(step) = timeline.steps.get_mut((step / finer.max(1)) as usize) {
                step.timed_calls += times.count;
                step.took_ns = step.took_ns.saturating_add(times.sum_ns);
                step.took_max_ns = step.took_max_ns.max(times.max_ns);
            }
        }
    }

    /// The answer's parts: by kind, and the calls that broke rules, by time.
    pub(super) fn finish(mut self) -> (Vec<CallLatency>, Vec<BrokenRule>) {
        self.broken.sort_by_key(|broken| broken.time_ns);
        let of_kind = |(kind, (times, worst)): (CallKind, (Times, Vec<WorstCall>))| {
            times.answer(kind).map(|latency| CallLatency { worst, ..latency })
        };
        (self.kinds.into_iter().filter_map(of_kind).collect(), self.broken)
    }
}

fn worst(context: &ProcessContext<'_>, slow: &[SlowCall], tree: &mut TreeBuilder) -> Vec<WorstCall> {
    let mut stacks: Vec<StackId> = slow.iter().map(|slow| slow.stack).collect();
    stacks.sort_unstable();
    stacks.dedup();
    let nodes = context.definitions.nodes(tree, stacks.iter().copied());
    let node_of = |stack| stacks.binary_search(&stack).map_or(tree.root(), |at| nodes[at]);
    let worst = slow.iter().map(|slow| WorstCall {
        took_ns: slow.ns,
        time_ns: context.time(slow.ticks),
        call: slow.call,
        size_bytes: slow.size_bytes,
        process: context.process,
        thread: slow.thread,
        node: node_of(slow.stack),
    });
    worst.collect()
}
