//! `resident-excess`: memory that belongs to no file stays resident although the heap is far smaller: fragmentation, free
//! memory that the heap keeps, or memory that never was of this heap.

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::{RESIDENT_EXCESS_BYTES, RESIDENT_EXCESS_PERCENT};
use super::owners::Owners;
use super::rounding;
use crate::answer::{Answer, Process, Resident};

/// Looks for it.
pub(super) fn find(answer: &Answer, _: &Owners) -> Vec<Finding> {
    let is_far = |resident: &Resident| {
        let excess = resident.excess_bytes();
        excess >= RESIDENT_EXCESS_BYTES
            && judge::is_part(excess, RESIDENT_EXCESS_PERCENT, resident.anonymous_bytes)
    };
    // What was allocated unseen is in the resident memory and not in the heap that was seen.
    let is_missing = |process: &Process| process.totals.lost_events > 0 || !process.off.is_empty();
    let resident = answer.resident.filter(is_far).filter(|_| !answer.processes.iter().any(is_missing));
    let finding = resident.map(|Resident { time_ns, anonymous_bytes, heap_bytes }| Finding {
        kind: Kind::ResidentExcess,
        severity: judge::of_bytes(anonymous_bytes.saturating_sub(heap_bytes), answer),
        // Programs that were not recorded, stacks of threads and other mappings are in it, too.
        confidence: Level::Medium,
        evidence: Evidence::ResidentExcess {
            anonymous_bytes,
            heap_bytes,
            time_ns,
            freed_bytes_max: taken_bytes_max(answer).saturating_sub(heap_bytes),
        },
        culprits: Vec::new(),
        more: 0,
    });
    finding.into_iter().collect()
}

/// The most that a heap like glibc's can have taken: what it takes for the blocks of the peak, or more where what is
/// missing leaves the peak open.
fn taken_bytes_max(answer: &Answer) -> u64 {
    let at_peak = answer.stacks.iter().map(rounding::heap_bytes).fold(0, u64::saturating_add);
    let bounds = answer.bounds.as_ref().map(|bounds| bounds.peak.bytes);
    at_peak.max(bounds.map_or(answer.peak.bytes, |peak| peak.high.unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Bounds, FigureBounds, Peak, Range};

    fn check(peak_bytes: u64, bounds: Option<Range>, expected: u64) {
        let bounds = bounds.map(|bytes| FigureBounds {
            peak: Bounds { bytes, ..Bounds::default() },
            ..FigureBounds::default()
        });
        let resident = Resident { time_ns: 1, anonymous_bytes: 100 << 20, heap_bytes: 10 << 20 };
        let peak = Peak { bytes: peak_bytes, ..Peak::default() };
        let answer = Answer { resident: Some(resident), peak, bounds, ..Answer::default() };
        let [finding] = &find(&answer, &Owners::default())[..] else { panic!("an excess") };
        let Evidence::ResidentExcess { freed_bytes_max, .. } = finding.evidence else { panic!("an excess") };
        assert_eq!(freed_bytes_max, expected);
    }

    #[test]
    fn a_heap_keeps_no_more_than_it_ever_took() {
        check(90 << 20, None, 80 << 20);
        check(10 << 20, None, 0);
        check(10 << 20, Some(Range { low: 1, high: Some(30 << 20) }), 20 << 20);
        check(10 << 20, Some(Range { low: 1, high: None }), u64::MAX - (10 << 20));
    }
}
