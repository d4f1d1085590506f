//! `sampling`: samples were too few for the figures that a report is read for.

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::{SAMPLING_SAMPLES, SAMPLING_WIDTH_PERCENT};
use super::owners::Owners;
use crate::answer::Answer;
use crate::answer::estimate::Sampling;

/// Samples that a peak should rest on: their standard error is a twentieth.
const SAMPLES_WANTED: u64 = 400;
/// The finest mean between two samples that is worth the name.
const MEAN_MIN_BYTES: u64 = 4 << 10;

/// Looks for it.
pub(super) fn find(answer: &Answer, _: &Owners) -> Vec<Finding> {
    let sampling = answer.sampling.as_ref().filter(|sampling| sampling.has_estimates());
    sampling.and_then(|sampling| finding(answer, sampling)).into_iter().collect()
}

fn finding(answer: &Answer, sampling: &Sampling) -> Option<Finding> {
    let mut bytes = sampling.peak.bytes;
    if bytes.high.is_infinite() {
        // Of a time that was off finer samples tell nothing: the finding is on what was recorded.
        bytes.high = bytes.value + (bytes.value - bytes.low).max(0.0);
    }
    let width = (bytes.high - bytes.low).max(0.0) as u64;
    let is_wide = width > 0 && judge::is_part(width, SAMPLING_WIDTH_PERCENT, answer.peak.bytes);
    let are_few = sampling.peak.samples < SAMPLING_SAMPLES && bytes.variance > 0.0;
    let mean = sampling.mean_bytes.iter().copied().max()?;
    // So that what was live at the peak would have been hit so often.
    let wanted = (answer.peak.bytes / SAMPLES_WANTED).next_power_of_two().max(MEAN_MIN_BYTES);
    (is_wide || are_few).then_some(Finding {
        kind: Kind::Sampling,
        severity: Level::Medium,
        confidence: Level::High,
        evidence: Evidence::Sampling {
            samples: sampling.peak.samples,
            peak_bytes: answer.peak.bytes,
            low_bytes: bytes.low as u64,
            high_bytes: bytes.high as u64,
            wanted_mean_bytes: if wanted < mean { wanted } else { 0 },
        },
        culprits: Vec::new(),
        more: 0,
    })
}
