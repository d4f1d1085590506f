//! What share of the growth of anonymous memory the recorded heap explains, by samples and by the most that it held.
//!
//! The peak of the heap and the largest sample need not be of one moment: what a heap has taken it mostly keeps, so the
//! memory is compared with the most that was live. A snapshot with pages knows it page by page; see `memory`.

use crate::answer::{Coverage, Process};
use crate::input::ProcessFacts;

/// What a heap has for a block besides its bytes: a size word, and rounding to 16 bytes, half of it on average.
const OVERHEAD_BYTES: u64 = 16;
/// The smallest chunk of glibc's heap.
const CHUNK_BYTES_MIN: u64 = 32;
/// What a program that was recorded from its begin has at the first sample before it allocates: data, relocations and a
/// stack. What is more was allocated before that sample.
const BEGIN_BYTES_MAX: u64 = 4 << 20;

/// That of a process; `None` when it was not sampled, or not recorded for a time.
pub(super) fn coverage(facts: &ProcessFacts, process: &Process) -> Option<Coverage> {
    let first = facts.rss.first()?.anonymous_bytes;
    let most = facts.rss.iter().map(|sample| sample.anonymous_bytes).max()?;
    if !facts.off.is_empty() || facts.counts_calls {
        return None;
    }
    // A child has its parent's memory at first, and a recording that begins late what was there before.
    let begins_with_it = !facts.is_fork && facts.evicted.is_empty();
    let before = if begins_with_it { first.min(BEGIN_BYTES_MAX) } else { first };
    let growth_bytes = most - before;
    let heap_bytes = taken_bytes(process).min(growth_bytes);
    let mapped_bytes = process.mappings.as_ref().map_or(0, |of| of.peak_bytes).min(growth_bytes - heap_bytes);
    Some(Coverage { growth_bytes, heap_bytes, mapped_bytes })
}

/// What the heap had taken when most was live; where losses leave the peak open, the most that it can have been.
fn taken_bytes(process: &Process) -> u64 {
    let whole = process.whole_peak.as_ref().map_or(0, |peak| peak.bytes);
    let high = process.bounds.as_ref().map_or(0, |bounds| bounds.peak.bytes.high.unwrap_or(u64::MAX));
    let bytes = process.peak.bytes.max(whole).max(high);
    let blocks = process.peak.blocks;
    let overhead = blocks.saturating_mul(OVERHEAD_BYTES);
    bytes.saturating_add(overhead).max(blocks.saturating_mul(CHUNK_BYTES_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Peak;
    use crate::input::RssSample;

    const MIB: u64 = 1 << 20;

    fn check(
        anonymous_mib: &[u64],
        peak: (u64, u64),
        expected: Option<(u64, u64)>,
        change: fn(&mut ProcessFacts),
    ) {
        let sample = |mib: &u64| RssSample { anonymous_bytes: mib * MIB, ..RssSample::default() };
        let mut facts =
            ProcessFacts { rss: anonymous_mib.iter().map(sample).collect(), ..ProcessFacts::default() };
        change(&mut facts);
        let peak = Peak { bytes: peak.0 * MIB, blocks: peak.1, ..Peak::default() };
        let found = coverage(&facts, &Process { peak, ..Process::default() });
        let expected = expected.map(|(growth, heap)| Coverage {
            growth_bytes: growth * MIB,
            heap_bytes: heap * MIB,
            mapped_bytes: 0,
        });
        assert_eq!(found, expected, "{anonymous_mib:?}");
    }

    #[test]
    fn growth_is_compared_with_the_most_that_was_live() {
        check(&[1, 50, 101, 70], (40, 0), Some((100, 40)), |_| {});
        check(&[1, 50], (60, 0), Some((49, 49)), |_| {}); // never written to
        check(&[], (60, 0), None, |_| {});
    }

    #[test]
    fn headers_and_rounding_are_the_heaps() {
        check(&[1, 101], (16, MIB), Some((100, 32)), |_| {}); // 16 bytes each
        check(&[1, 101], (1, MIB), Some((100, 32)), |_| {}); // 1 byte each
    }

    #[test]
    fn what_is_there_at_first_is_the_programs_unless_it_is_inherited() {
        check(&[30, 101], (40, 0), Some((97, 40)), |_| {});
        check(&[30, 101], (40, 0), Some((71, 40)), |facts| facts.is_fork = true);
        check(&[30, 101], (40, 0), None, |facts| facts.off = vec![(1, 2)]);
    }
}
