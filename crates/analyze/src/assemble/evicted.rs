//! What a ring has evicted, as far as figures count it: it has amounts, and no stacks. What they leave of a figure is
//! the share of one stack of its own, so that shares add up to the figure that they are shares of.

use heapscribe_formats::model::{EndedImages, Evicted, UNKNOWN};

use super::amounts::{amount, sum};
use crate::answer::{Amount, Bounds, Frame, Holder, NodeId, Peak, Range, WholePeak, Window};
use crate::input::ProcessFacts;
use crate::losses::Losses;
use crate::passes::PassResults;
use crate::peak::Held;
use crate::stacks::TreeBuilder;

/// The node of what was allocated by events that were evicted.
pub(super) fn node(tree: &mut TreeBuilder) -> NodeId {
    tree.child(tree.root(), Frame::EVICTED)
}

/// Adds what holders lack of the whole that they hold, as held by this node; gives how much that is.
pub(super) fn complete(holders: &mut Vec<Holder>, whole: Amount, node: impl FnOnce() -> NodeId) -> Amount {
    let held = whole.minus(sum(holders));
    if held != Amount::default() {
        let node = node();
        let at = holders.partition_point(|holder| holder.node < node);
        holders.insert(at, Holder { node, held });
    }
    held
}

/// Whether a process may have been at its peak before the window of a ring, which begins here: also one of which
/// nothing was evicted, because of the others not all events are there.
pub(super) fn began_before(facts: &ProcessFacts, window_ns: u64) -> bool {
    window_ns > 0 && facts.begin_mono_ns < window_ns
}

/// What is missing of a process, with what was evicted of it or of others, or what follows where its end is not known.
pub(super) fn losses(others: Losses, facts: &ProcessFacts, is_ring: bool) -> Losses {
    let others = others.in_ring(is_ring, facts.peak.is_some()).in_rest(!facts.evicted.is_counted());
    others.unfinished(facts.is_unfinished).with_gap(facts.gap_at.is_some())
}

/// The peak of a process that began before the window by all of its events, when that is known and higher than
/// its peak in the window.
pub(super) fn whole_peak(facts: &ProcessFacts, in_window: &Peak, begin_ns: u64) -> Option<WholePeak> {
    let peak = facts.peak.filter(|peak| peak.bytes > in_window.bytes)?;
    let time_ns = facts.clock.ns(peak.ticks).saturating_sub(begin_ns);
    Some(WholePeak { bytes: peak.bytes, time_ns })
}

/// What processes of which nothing is left have never freed.
pub(super) fn leaked(evicted: &Evicted) -> (Amount, Bounds) {
    let EndedImages { leaked_blocks_min, leaked_blocks_max, leaked_bytes_min, leaked_bytes_max, .. } =
        evicted.ended;
    if evicted.ended.images < evicted.processes {
        let left = amount(&Held::left_by(evicted)); // a trace of an earlier version
        return (left, Bounds::exact(left));
    }
    let range = |low: u64, high: u64| Range { low, high: (high != UNKNOWN).then_some(high) };
    let bounds = Bounds {
        blocks: range(leaked_blocks_min, leaked_blocks_max),
        bytes: range(leaked_bytes_min, leaked_bytes_max),
    };
    (Amount { blocks: leaked_blocks_min, bytes: leaked_bytes_min }, bounds)
}

/// What was done in the window of a ring, if the recording is one.
pub(super) fn window(results: &PassResults) -> Option<Window> {
    results.grid.is_window.then(|| {
        let of_chunks = results.segments.iter().filter(|segment| !segment.is_end());
        let length_ns = results.grid.end_ns - 1 - results.grid.begin_ns;
        of_chunks.fold(Window { length_ns, ..Window::default() }, |sum, segment| Window {
            calls: sum.calls + u64::from(segment.events),
            allocations: sum.allocations + segment.allocations,
            allocated_bytes: sum.allocated_bytes.wrapping_add(segment.allocated_bytes),
            ..sum
        })
    })
}
