//! Resident memory beside what the heap can explain of it.

use super::judge;
use super::limits::{RESIDENT_EXCESS_BYTES, RESIDENT_EXCESS_PERCENT};
use super::rounding;
use crate::answer::{self, Answer, Process, Resident};

/// Resident memory that is far above the heap, where all of the heap was seen.
pub(super) fn far(answer: &Answer) -> Option<Resident> {
    let is_far = |resident: &Resident| {
        let excess = resident.excess_bytes();
        excess >= RESIDENT_EXCESS_BYTES
            && judge::is_part(excess, RESIDENT_EXCESS_PERCENT, resident.anonymous_bytes)
    };
    // What was allocated unseen is in the resident memory and not in the heap that was seen.
    let is_missing = |process: &Process| process.totals.lost_events > 0 || !process.off.is_empty();
    answer.resident.filter(is_far).filter(|_| !answer.processes.iter().any(is_missing))
}

/// The most that a heap like glibc's can have taken.
pub(super) fn taken_bytes_max(of: &Answer) -> u64 {
    let overhead = of.stacks.iter().map(rounding::overhead_bytes).fold(0, u64::saturating_add);
    let bounds = of.bounds.as_ref().map(|bounds| bounds.peak.bytes);
    answer::taken_bytes_max(overhead, of.peak.bytes, bounds.as_ref())
}
