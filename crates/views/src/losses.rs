//! How much was lost, as every view and every rule takes it.

use heapscribe_analyze::answer::Answer;
use heapscribe_wire::head::LossReason;

/// Events that are not in the trace: what the recorder counted, or at least those that the trace itself counts.
pub fn lost_events(answer: &Answer) -> u64 {
    let loses = |reason| LossReason::from_number(reason).is_some_and(LossReason::loses_events);
    let counted: u64 =
        answer.dropped.iter().filter(|d| loses(d.reason)).map(|d| d.count).fold(0, u64::saturating_add);
    counted.max(answer.totals.lost_events)
}
