//! `burst`: the heap rose steeply to its peak and fell again. Who rose made the peak; the others were merely there.

use super::finding::{Evidence, Finding, Kind};
use super::judge;
use super::owners::{Owners, culprits};
use crate::answer::{Amount, Answer, Stack};

/// Looks for it.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let Some(ascent) = answer.ascent else { return Vec::new() };
    let ranked = owners.ranked(answer, rise);
    let there = owners.ranked(answer, |stack| stack.before_peak);
    let rose_bytes = answer.peak.bytes.saturating_sub(ascent.bytes);
    let (culprits, more) = culprits(&ranked);
    if culprits.is_empty() {
        return Vec::new();
    }
    vec![Finding {
        kind: Kind::Burst,
        severity: judge::of_bytes(rose_bytes, answer),
        confidence: judge::confidence(answer),
        evidence: Evidence::Burst {
            rose_bytes,
            within_ns: answer.peak.time_ns.saturating_sub(ascent.time_ns),
            peak_bytes: answer.peak.bytes,
            there_bytes: ascent.bytes,
            there: there.first().map(|owned| owned.culprit().node),
        },
        culprits,
        more,
    }]
}

fn rise(stack: &Stack) -> Amount {
    let bytes = stack.at_peak.bytes.saturating_sub(stack.before_peak.bytes);
    let blocks = stack.at_peak.blocks.saturating_sub(stack.before_peak.blocks);
    if bytes == 0 { Amount::default() } else { Amount { blocks, bytes } }
}
