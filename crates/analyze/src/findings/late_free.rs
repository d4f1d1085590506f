//! `late-free`: large blocks that were held for most of a process's life and freed only at its end. Whether they were in
//! use all that time nothing here tells.

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::LATE_FREE_PEAK_PERCENT;
use super::owners::{Owned, Owners};
use crate::answer::Answer;

/// Looks for them.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let ranked = owners.ranked(answer, |stack| stack.patterns.freed_late);
    let is_much =
        |owned: &&Owned<'_>| judge::is_part(owned.amount.bytes, LATE_FREE_PEAK_PERCENT, answer.peak.bytes);
    ranked.iter().filter(is_much).map(|owned| finding(answer, owned)).collect()
}

fn finding(answer: &Answer, owned: &Owned<'_>) -> Finding {
    Finding {
        kind: Kind::LateFree,
        severity: judge::of_bytes(owned.amount.bytes, answer).less(),
        confidence: Level::Low,
        evidence: Evidence::LateFree {
            freed: owned.amount,
            largest_bytes: owned.max(|stack| stack.size_max_bytes),
        },
        culprits: vec![owned.culprit()],
        more: 0,
    }
}
