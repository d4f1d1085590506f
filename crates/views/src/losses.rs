//! How much was lost, as every view and every rule takes it.

use heapscribe_analyze::answer::Answer;
use heapscribe_wire::head::LossReason;

use crate::off;

/// What of the losses touches figures, in words: what was lost and why that leaves them open.
pub fn causes(answer: &Answer) -> Vec<String> {
    let events = lost_events(answer);
    let count = |reason: LossReason| {
        let of_reason = answer.dropped.iter().filter(|dropped| dropped.reason == reason as u8);
        of_reason.map(|dropped| dropped.count).fold(0, u64::saturating_add)
    };
    [
        (events, "event is missing", "events are missing"),
        (
            count(LossReason::LiveTable),
            "block was not followed, so its free is not known",
            "blocks were not followed, so their frees are not known",
        ),
        (
            count(LossReason::ReplacedBlock),
            "block was freed unseen, and others may have been",
            "blocks were freed unseen, and others may have been",
        ),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(|(n, one, more)| format!("{} {}", heapscribe_units::count(n), if n == 1 { one } else { more }))
    .chain(off::cause(answer))
    .collect()
}

/// Events that are not in the trace: what the recorder counted, or at least those that the trace itself counts.
pub fn lost_events(answer: &Answer) -> u64 {
    let loses = |reason| LossReason::from_number(reason).is_some_and(LossReason::loses_events);
    let counted: u64 =
        answer.dropped.iter().filter(|d| loses(d.reason)).map(|d| d.count).fold(0, u64::saturating_add);
    counted.max(answer.totals.lost_events)
}
