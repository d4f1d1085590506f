//! How long the calls of a process took, by kind and over time.

use std::collections::BTreeMap;

use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Call, Event};

use super::times::{SlowCall, Times};
use crate::answer::CallKind;
use crate::stacks::StackTable;

/// What calls took within a step of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct StepTimes {
    pub(crate) count: u64,
    pub(crate) sum_ns: u64,
    pub(crate) max_ns: u64,
}

impl StepTimes {
    pub(crate) fn merge(&mut self, other: &StepTimes) {
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// How long a call took, and where it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedCall {
    pub(crate) ns: u64,
    /// The step of the grid; none when it was before the grid.
    pub(crate) step: Option<u32>,
    pub(crate) thread: u32,
    pub(crate) ticks: u64,
}

/// What of a call is needed when its time is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastCall {
    pub(crate) call: Call,
    pub(crate) size_bytes: u64,
    /// Of a free, who had asked for the block.
    pub(crate) stack: StackId,
}

impl LastCall {
    /// The call of an event, if it is one.
    pub(crate) fn of(event: &Event) -> Option<LastCall> {
        let (call, size_bytes, stack) = match *event {
            Event::Alloc { call, size_bytes, stack, .. }
            | Event::Failed { call, size_bytes, stack }
            | Event::Realloc { call, size_bytes, stack, .. }
            | Event::UnknownRealloc { call, size_bytes, stack } => (call, size_bytes, stack),
            Event::Free { call, block } => (call, block.size_bytes, block.stack),
            Event::UnknownFree { call } => (call, 0, StackId::UNKNOWN),
            Event::Rate { .. }
            | Event::Took { .. }
            | Event::Lost { .. }
            | Event::Note { .. }
            | Event::Mapping(_) => return None,
        };
        Some(LastCall { call, size_bytes, stack })
    }
}

/// How long the calls of a process took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latency {
    pub(crate) kinds: BTreeMap<CallKind, Times>,
    /// By stack; frees by who had asked for the block.
    pub(crate) stacks: StackTable<StepTimes>,
    /// By step of the grid.
    pub(crate) steps: BTreeMap<u32, StepTimes>,
}

impl Latency {
    /// Adds the call of an event.
    #[cold]
    pub(crate) fn add(&mut self, last: &LastCall, timed: &TimedCall) {
        let TimedCall { ns, step, thread, ticks } = *timed;
        let LastCall { call, size_bytes, stack } = *last;
        let Some(kind) = CallKind::of(call) else { return };
        self.kinds.entry(kind).or_default().add(SlowCall { ns, ticks, thread, call, size_bytes, stack });
        let times = StepTimes { count: 1, sum_ns: ns, max_ns: ns };
        self.stacks.row(stack).merge(&times);
        if let Some(step) = step {
            self.steps.entry(step).or_default().merge(&times);
        }
    }

    /// Adds others of the same process.
    pub(crate) fn merge(&mut self, other: Latency) {
        for (kind, times) in other.kinds {
            self.kinds.entry(kind).or_default().merge(times);
        }
        self.stacks.merge(other.stacks, StepTimes::merge);
        for (step, times) in &other.steps {
            self.steps.entry(*step).or_default().merge(times);
        }
    }
}
