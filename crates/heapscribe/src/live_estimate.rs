//! What is live in a running process of which blocks were sampled. The counters of its threads count recorded blocks
//! only; its table of live blocks has the rate of each, so that what each stands for is known.

use anyhow::{Context, Result};
use heapscribe_analyze::estimate::Estimate;
use heapscribe_analyze::memory::{self, Memory};
use heapscribe_analyze::snapshot::{self, Snapshot as Answer};
use heapscribe_formats::Trace;
use heapscribe_session::inspect::{self, Snapshot};
use heapscribe_wire::definitions::{Definition, Definitions, Position};

/// Whether blocks of a process with these definitions were sampled, at least for some time.
pub(crate) fn has_samples(definitions: &[u8]) -> bool {
    let mut known = Definitions::new(definitions, Position::default()).flatten();
    known.any(|(_, definition)| matches!(definition, Definition::Rate { .. }))
}

/// All that is known of what is live.
pub(crate) fn answer(snapshot: &Snapshot) -> Result<Answer> {
    Ok(answer_with_memory(snapshot)?.0)
}

/// The same, and of what the resident memory is made, where the snapshot has the pages of the process.
pub(crate) fn answer_with_memory(snapshot: &Snapshot) -> Result<(Answer, Option<Memory>)> {
    let mut bytes = Vec::new();
    inspect::save(snapshot, &mut bytes).context("cannot keep the snapshot in memory")?;
    let trace = Trace::open(bytes)?;
    let answer = snapshot::analyze(&trace).into_iter().next().unwrap_or_default();
    let memory = memory::analyze(&trace, &answer)?;
    Ok((answer, memory))
}

/// The estimate of what is live, and how many of the live blocks are no samples; nothing where none is one.
pub(crate) fn of(answer: &Answer) -> Option<(Estimate, u64)> {
    answer.sampling.as_ref().map(|sampling| (sampling.live, sampling.exact_blocks))
}

/// Bytes a second that samples a second of so many bytes stand for. Sizes of single blocks are not known here: small
/// ones stand for a mean each and large ones for themselves, so that it is in the middle of what is possible.
pub(crate) fn rate(samples: f64, bytes: f64, mean_bytes: u64) -> f64 {
    let of_means = samples * mean_bytes as f64;
    (bytes.max(of_means) + bytes + of_means) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stand_for_means_and_large_blocks_for_themselves() {
        let check = |samples, bytes, expected: f64| {
            let found = rate(samples, bytes, 1 << 16);
            assert!((found / expected - 1.0).abs() < 0.01, "{found}, expected {expected}");
        };
        check(146.0, 146.0 * 1000.0, 146.0 * 65_536.0);
        check(3.0, 3e9, 3e9);
        assert_eq!(rate(0.0, 0.0, 1 << 16), 0.0);
    }
}
