//! `resident-excess`: memory that belongs to no file stays resident although the heap is far smaller: fragmentation, free
//! memory that the heap keeps, or memory that never was of this heap.

use super::arenas;
use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::owners::Owners;
use super::resident::{far, taken_bytes_max};
use crate::answer::{Answer, Resident};

/// Looks for it. Where arenas are the reason, that is another finding.
pub(super) fn find(answer: &Answer, _: &Owners) -> Vec<Finding> {
    let resident = far(answer).filter(|_| arenas::seen(answer).is_none());
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
