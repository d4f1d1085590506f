//! `resident-excess`: memory that belongs to no file stays resident although the heap is far smaller: fragmentation, free
//! memory that the heap keeps, or memory that never was of this heap.

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::{RESIDENT_EXCESS_BYTES, RESIDENT_EXCESS_PERCENT};
use super::owners::Owners;
use crate::answer::{Answer, Resident};

/// Looks for it.
pub(super) fn find(answer: &Answer, _: &Owners) -> Vec<Finding> {
    let is_far = |resident: &Resident| {
        let excess = resident.excess_bytes();
        excess >= RESIDENT_EXCESS_BYTES
            && judge::is_part(excess, RESIDENT_EXCESS_PERCENT, resident.anonymous_bytes)
    };
    let resident = answer.resident.filter(is_far);
    let finding = resident.map(|Resident { time_ns, anonymous_bytes, heap_bytes }| Finding {
        kind: Kind::ResidentExcess,
        severity: judge::of_bytes(anonymous_bytes.saturating_sub(heap_bytes), answer),
        // Programs that were not recorded, stacks of threads and other mappings are in it, too.
        confidence: Level::Medium,
        evidence: Evidence::ResidentExcess { anonymous_bytes, heap_bytes, time_ns },
        culprits: Vec::new(),
        more: 0,
    });
    finding.into_iter().collect()
}
