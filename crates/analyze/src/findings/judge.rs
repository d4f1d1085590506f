//! How much a finding matters, by its part of the whole, and how sure it is.

use super::finding::Level;
use super::limits::{HIGH_BYTES, HIGH_PERCENT, MEDIUM_BYTES, MEDIUM_PERCENT};
use crate::answer::Answer;

/// Whether a part is at least so many percent of a whole.
pub(super) fn is_part(part: u64, percent: u64, whole: u64) -> bool {
    u128::from(part) * 100 >= u128::from(whole) * u128::from(percent)
}

/// The severity of so many bytes, beside the peak.
pub(super) fn of_bytes(bytes: u64, answer: &Answer) -> Level {
    match bytes {
        _ if bytes >= HIGH_BYTES && is_part(bytes, HIGH_PERCENT, answer.peak.bytes) => Level::High,
        _ if bytes >= MEDIUM_BYTES && is_part(bytes, MEDIUM_PERCENT, answer.peak.bytes) => Level::Medium,
        _ => Level::Low,
    }
}

/// The severity of so many calls, beside all allocations. What only costs time is never high.
pub(super) fn of_calls(calls: u64, answer: &Answer) -> Level {
    if is_part(calls, HIGH_PERCENT, answer.totals.allocations) { Level::Medium } else { Level::Low }
}

/// How sure figures of a recording are: less where blocks were sampled, less where events are missing.
pub(super) fn confidence(answer: &Answer) -> Level {
    let is_sampled = answer.sampling.as_ref().is_some_and(|sampling| sampling.has_estimates());
    let has_losses = answer.bounds.is_some() || !answer.evicted.is_empty();
    match (is_sampled, has_losses) {
        (false, false) => Level::High,
        (true, true) => Level::Low,
        _ => Level::Medium,
    }
}
