//! One call of the heap, and sums over the calls of a stack.

use heapscribe_formats::RuleViolation;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Call, Event};

use super::change::Scale;
use crate::answer::{CallCounts, NodeId, StackCalls};
use crate::input::Clock;

/// What a call was for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallPurpose {
    Allocation,
    Realloc,
    Free,
    Failed,
}

/// A call, or of sampled blocks as many as it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeapCall {
    pub(crate) kind: CallPurpose,
    /// Who called; of a free, which has no stack of its own, who had asked for the block.
    pub(crate) stack: StackId,
    pub(crate) calls: u64,
    /// Bytes that it allocated.
    pub(crate) bytes: u64,
}

impl HeapCall {
    /// The call of an event, if it is one of the heap.
    #[inline(always)]
    pub(crate) fn of(event: &Event, scale: &Scale, ticks: u64) -> Option<HeapCall> {
        if event.is_pool() {
            return None;
        }
        let one = |kind, stack, calls, bytes| Some(HeapCall { kind, stack, calls, bytes });
        match *event {
            Event::Alloc { size_bytes, stack, .. } => {
                let weight = scale.of_new(size_bytes, ticks);
                one(CallPurpose::Allocation, stack, weight.blocks, weight.bytes)
            }
            // Half of a realloc whose other block was not sampled: the call is counted by that one.
            Event::Free { call: Call::Realloc | Call::Reallocarray, .. } if scale.mean_bytes != 0 => None,
            Event::Free { block, .. } => {
                one(CallPurpose::Free, block.stack, scale.of_old(&block, ticks).blocks, 0)
            }
            Event::Realloc { size_bytes, stack, .. } => {
                let weight = scale.of_new(size_bytes, ticks);
                one(CallPurpose::Realloc, stack, weight.blocks, weight.bytes)
            }
            Event::UnknownRealloc { size_bytes, stack, .. } => {
                one(CallPurpose::Realloc, stack, 1, size_bytes)
            }
            Event::Failed { stack, .. } => one(CallPurpose::Failed, stack, 1, 0),
            Event::UnknownFree { .. } => one(CallPurpose::Free, StackId::UNKNOWN, 1, 0),
            Event::Rate { .. }
            | Event::Took { .. }
            | Event::Lost { .. }
            | Event::Note { .. }
            | Event::Mapping(_) => None,
        }
    }
}

impl HeapCall {
    /// The call that a process was stopped at, for a rule of real time, when its event found no room.
    pub(crate) fn refused(broke: &RuleViolation) -> HeapCall {
        let kind = match broke.call {
            Call::Free | Call::Cfree | Call::FreeSized | Call::FreeAlignedSized => CallPurpose::Free,
            Call::Realloc | Call::Reallocarray => CallPurpose::Realloc,
            _ => CallPurpose::Allocation,
        };
        HeapCall { kind, stack: broke.stack, calls: 1, bytes: 0 }
    }
}

/// Sums over the calls of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CallRow {
    pub(crate) kinds: CallCounts,
    pub(crate) bytes: u64,
    pub(crate) first_ticks: u64,
    /// How long the slowest call took, where the recording says that.
    pub(crate) worst_ns: Option<u64>,
}

impl Default for CallRow {
    fn default() -> Self {
        CallRow { kinds: CallCounts::default(), bytes: 0, first_ticks: u64::MAX, worst_ns: None }
    }
}

impl CallRow {
    /// Adds a call.
    #[inline(always)]
    pub(crate) fn take(&mut self, call: &HeapCall, ticks: u64) {
        let CallCounts { allocations, reallocs, frees, failed } = &mut self.kinds;
        let count = match call.kind {
            CallPurpose::Allocation => allocations,
            CallPurpose::Realloc => reallocs,
            CallPurpose::Free => frees,
            CallPurpose::Failed => failed,
        };
        *count = count.saturating_add(call.calls);
        self.bytes = self.bytes.saturating_add(call.bytes);
        self.first_ticks = self.first_ticks.min(ticks);
    }

    /// The call that was added last took so long.
    pub(crate) fn took(&mut self, ns: u64) {
        self.worst_ns = self.worst_ns.max(Some(ns));
    }

    /// The same with a node for its stack and a time for its ticks.
    pub(crate) fn at_node(&self, node: NodeId, clock: &Clock) -> StackCalls {
        let first_ns = clock.ns(self.first_ticks);
        StackCalls { node, kinds: self.kinds, bytes: self.bytes, first_ns, worst_ns: self.worst_ns }
    }

    /// Adds the calls of another.
    pub(crate) fn merge(&mut self, other: &CallRow) {
        self.kinds.add(&other.kinds);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.first_ticks = self.first_ticks.min(other.first_ticks);
        self.worst_ns = self.worst_ns.max(other.worst_ns);
    }
}
