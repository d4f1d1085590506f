//! How much a finding matters, by its part of the whole, and how sure it is.

use heapscribe_wire::head::LossReason;

use super::finding::Level;
use super::limits::{HIGH_BYTES, HIGH_PERCENT, LEAK_BYTES, MEDIUM_BYTES, MEDIUM_PERCENT};
use crate::answer::{Answer, Dropped, Process};

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

/// The fewest bytes that a finding of this severity is about, beside the peak.
pub fn bytes_min(severity: Level, answer: &Answer) -> u64 {
    let part = |percent: u64| (u128::from(answer.peak.bytes) * u128::from(percent)).div_ceil(100) as u64;
    match severity {
        Level::High => HIGH_BYTES.max(part(HIGH_PERCENT)),
        Level::Medium => MEDIUM_BYTES.max(part(MEDIUM_PERCENT)),
        Level::Low => LEAK_BYTES,
    }
}

/// The severity of so many calls, beside all allocations. What only costs time is never high.
pub(super) fn of_calls(calls: u64, answer: &Answer) -> Level {
    if is_part(calls, HIGH_PERCENT, answer.totals.allocations) { Level::Medium } else { Level::Low }
}

/// How many bytes that a process seems to hold it may have freed, where events are missing or blocks had no slot in its
/// table. What a ring has evicted is known by the table.
fn freed_unseen_bytes(process: &Process) -> u64 {
    let is_unseen =
        |of: &Dropped| [LossReason::LiveTable as u8, LossReason::ReplacedBlock as u8].contains(&of.reason);
    if process.totals.lost_events == 0 && !process.dropped.iter().any(is_unseen) {
        return 0;
    }
    let least = process.bounds.as_ref().map(|bounds| bounds.peak.bytes.low);
    least.map_or(u64::MAX, |least| process.peak.bytes.saturating_sub(least))
}

/// Whether so many bytes that a process seems to hold may be what it freed, a tenth of them or more.
pub(super) fn may_be_freed(bytes: u64, process: &Process) -> bool {
    let unseen_bytes = freed_unseen_bytes(process);
    unseen_bytes > 0 && unseen_bytes >= bytes / 10
}

/// The same of bytes that any of the processes may hold.
pub(super) fn may_be_freed_by_any(bytes: u64, answer: &Answer) -> bool {
    let unseen_bytes = answer.processes.iter().map(freed_unseen_bytes).fold(0, u64::saturating_add);
    unseen_bytes > 0 && unseen_bytes >= bytes / 10
}

/// The severity of so many bytes that may have been copied, beside all that were allocated. What only costs time is
/// never high.
pub(super) fn of_copies(bytes: u64, answer: &Answer) -> Level {
    let is_much = bytes >= HIGH_BYTES && is_part(bytes, HIGH_PERCENT, answer.totals.allocated_bytes);
    if is_much { Level::Medium } else { Level::Low }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Bounds, FigureBounds, Peak, Range, Totals};

    /// Of a process that seems to hold 30 MB at most, and so many bytes at least where that is known.
    fn check(lost_events: u64, reason: Option<LossReason>, least: Option<u64>, expected: bool) {
        let bounds = least.map(|low| FigureBounds {
            peak: Bounds { bytes: Range { low, high: None }, ..Bounds::default() },
            ..FigureBounds::default()
        });
        let process = Process {
            totals: Totals { lost_events, ..Totals::default() },
            dropped: reason.map(|of| Dropped { reason: of as u8, count: 7 }).into_iter().collect(),
            peak: Peak { bytes: 30_000_000, ..Peak::default() },
            bounds,
            ..Process::default()
        };
        assert_eq!(may_be_freed(4_000_000, &process), expected, "{lost_events} {reason:?} {least:?}");
        let answer = Answer { processes: vec![Process::default(), process], ..Answer::default() };
        assert_eq!(may_be_freed_by_any(4_000_000, &answer), expected);
    }

    #[test]
    fn a_severity_begins_with_its_fewest_bytes() {
        for peak_bytes in [0, 1 << 20, 10_000_001] {
            let peak = Peak { bytes: peak_bytes, ..Peak::default() };
            let answer = Answer { peak, ..Answer::default() };
            for severity in [Level::High, Level::Medium, Level::Low] {
                let least = bytes_min(severity, &answer);
                assert_eq!(of_bytes(least, &answer), severity, "{least} of {peak_bytes}");
                assert!(of_bytes(least - 1, &answer) > severity || severity == Level::Low);
            }
        }
    }

    #[test]
    fn what_a_loss_may_have_made_is_known_by_the_bounds() {
        check(0, None, None, false);
        check(0, Some(LossReason::StackDepth), None, false);
        check(0, None, Some(5_000_000), false); // a ring
        check(9, None, Some(5_000_000), true);
        check(9, None, Some(29_990_000), false);
        check(9, None, None, true); // sampled: nobody knows
        check(0, Some(LossReason::LiveTable), Some(5_000_000), true);
        check(0, Some(LossReason::ReplacedBlock), Some(30_000_000), false);
    }
}
