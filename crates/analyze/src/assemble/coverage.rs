//! What share of the growth of anonymous memory the recorded heap explains, by samples and by the most that it held.
//!
//! The peak of the heap and the largest sample need not be of one moment: what a heap has taken it mostly keeps, so the
//! memory is compared with the most that was live. A snapshot with pages knows it page by page; see `memory`.

use heapscribe_wire::ids::StackId;

use super::amounts::amount;
use crate::answer::{self, AllBlocks, Coverage, Process};
use crate::counters::StackRow;
use crate::input::ProcessFacts;
use crate::peak::{Held, Holding};

/// What a program that was recorded from its begin has at the first sample before it allocates: data, relocations and a
/// stack. What is more was allocated before that sample.
const BEGIN_BYTES_MAX: u64 = 4 << 20;

/// What the heap took at a process's peak beyond what was asked for, by the rows of all stacks in order.
pub(super) fn overhead_bytes(at_peak: &Holding, rows: &[(StackId, StackRow)]) -> u64 {
    let all = |stack: &StackId| {
        let at = rows.binary_search_by_key(stack, |(stack, _)| *stack);
        at.map_or(AllBlocks::default(), |at| rows[at].1.all_blocks())
    };
    let of_stack = |(stack, held): &(StackId, Held)| answer::overhead_bytes(&amount(held), &all(stack));
    let of_rest = answer::overhead_bytes(&amount(&at_peak.rest), &AllBlocks::default());
    at_peak.held.iter().map(of_stack).fold(of_rest, u64::saturating_add)
}

/// That of a process whose heap took so much at its peak beyond what was asked for; `None` when it was not sampled, or
/// not recorded for a time.
pub(super) fn coverage(facts: &ProcessFacts, process: &Process, overhead_bytes: u64) -> Option<Coverage> {
    let first = facts.rss.first()?.anonymous_bytes;
    let most = facts.rss.iter().map(|sample| sample.anonymous_bytes).max()?;
    if !facts.off.is_empty() || facts.counts_calls {
        return None;
    }
    // A child has its parent's memory at first, and a recording that begins late what was there before.
    let before = match (facts.evicted.is_empty(), facts.is_fork) {
        (true, false) => first.min(BEGIN_BYTES_MAX),
        (true, true) => facts.inherited_bytes,
        (false, _) => first,
    };
    let growth_bytes = most.saturating_sub(before);
    let heap_bytes = taken_bytes_max(process, overhead_bytes).min(growth_bytes);
    let mapped_bytes = process.mappings.as_ref().map_or(0, |of| of.peak_bytes).min(growth_bytes - heap_bytes);
    Some(Coverage { growth_bytes, heap_bytes, mapped_bytes })
}

/// What the heap had taken when most was live; where losses leave the peak open, the most that it can have been.
fn taken_bytes_max(process: &Process, overhead_bytes: u64) -> u64 {
    let whole = process.whole_peak.as_ref().map_or(0, |peak| peak.bytes);
    let bounds = process.bounds.as_ref().map(|bounds| bounds.peak.bytes);
    answer::taken_bytes_max(overhead_bytes, process.peak.bytes.max(whole), bounds.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Peak;
    use crate::input::RssSample;
    use crate::sampling::Weight;

    const MIB: u64 = 1 << 20;

    fn check(
        anonymous_mib: &[u64],
        (peak_mib, overhead_mib): (u64, u64),
        expected: Option<(u64, u64)>,
        change: fn(&mut ProcessFacts),
    ) {
        let sample = |mib: &u64| RssSample { anonymous_bytes: mib * MIB, ..RssSample::default() };
        let mut facts =
            ProcessFacts { rss: anonymous_mib.iter().map(sample).collect(), ..ProcessFacts::default() };
        change(&mut facts);
        let peak = Peak { bytes: peak_mib * MIB, ..Peak::default() };
        let found = coverage(&facts, &Process { peak, ..Process::default() }, overhead_mib * MIB);
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
        check(&[1, 50, 101, 70], (40, 9), Some((100, 49)), |_| {});
        check(&[1, 50], (60, 0), Some((49, 49)), |_| {}); // never written to
        check(&[], (60, 0), None, |_| {});
    }

    /// 1,000,000 blocks each of 1, 24, 25 and 1,000 bytes take 32, 32, 48 and 1,008; those of a stack that is not known are
    /// of 24 bytes.
    #[test]
    fn headers_and_rounding_are_the_heaps_by_size() {
        let sizes = [1, 24, 25, 1_000];
        let of = |blocks: u64, size: u64| Held { blocks: blocks as i64, bytes: (blocks * size) as i64 };
        let held = |(id, size): (usize, &u64)| (StackId(id as u32), of(1_000_000, *size));
        let at_peak = Holding {
            held: sizes.iter().enumerate().map(held).collect(),
            rest: of(1_000_000, 24),
            ..Holding::default()
        };
        let row = |(id, size): (usize, &u64)| {
            let mut row = StackRow::default();
            row.alloc(*size, Weight::one(*size), 0);
            (StackId(id as u32), row)
        };
        let rows: Vec<_> = sizes.iter().enumerate().map(row).collect();
        let asked: u64 = 1_000_000 * (sizes.iter().sum::<u64>() + 24);
        let taken = 1_000_000 * (32 + 32 + 48 + 1_008 + 32);
        assert_eq!(asked + overhead_bytes(&at_peak, &rows), taken);
    }

    #[test]
    fn what_is_there_at_first_is_the_programs_unless_it_is_inherited() {
        check(&[30, 101], (40, 0), Some((97, 40)), |_| {});
        fn of_child(facts: &mut ProcessFacts, inherited_mib: u64) {
            (facts.is_fork, facts.inherited_bytes) = (true, inherited_mib * MIB);
        }
        check(&[30, 101], (40, 0), Some((71, 40)), |facts| of_child(facts, 30));
        check(&[62, 62], (1, 0), Some((60, 1)), |facts| of_child(facts, 2));
        check(&[30, 101], (40, 0), None, |facts| facts.off = vec![(1, 2)]);
    }
}
