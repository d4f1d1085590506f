//! `growth`: who holds more and more through the second half of a process's life and never frees it. A cache that was
//! filled once rises in few of the steps, and what is freed at the end leaves nothing. Where frees may be missing, or
//! recording was off, levels may rise that did not: of such a process it says nothing.

use std::collections::BTreeMap;

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::{GROWTH_BYTES, GROWTH_LEFT_PERCENT, GROWTH_LIFE_MS, GROWTH_PERCENT, GROWTH_RISING_STEPS};
use super::owners::{Owned, OwnerKey, Owners};
use crate::answer::{Amount, Answer, Ended, GROWTH_STEPS, Growth, Process, Stack};

/// A process that lived less than this says little about a longer one, ns; if it ended by itself, that it fills tables
/// until then, as `make` does in 200 ms.
const SHORT_LIFE_NS: u64 = 1_000_000_000;

/// Looks for them, process by process.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let processes = answer.processes.iter().enumerate();
    processes.flat_map(|(number, process)| of_process(answer, owners, number, process)).collect()
}

fn of_process(answer: &Answer, owners: &Owners, number: usize, process: &Process) -> Vec<Finding> {
    let life_ns = process.end_ns.saturating_sub(process.begin_ns);
    if life_ns < GROWTH_LIFE_MS * 1_000_000 || answer.counts_calls || !process.off.is_empty() {
        return Vec::new();
    }
    let mut by_owner: BTreeMap<OwnerKey, ([i64; GROWTH_STEPS + 1], Owned<'_>)> = BTreeMap::new();
    for Growth { node, bytes } in &process.growth {
        let Ok(at) = answer.stacks.binary_search_by_key(node, |stack| stack.node) else { continue };
        let (levels, owned) = by_owner.entry(owners.key(*node)).or_default();
        levels.iter_mut().zip(bytes).for_each(|(level, more)| *level = level.saturating_add(*more));
        let stack: &Stack = &answer.stacks[at];
        let holder = process.leaked_stacks.binary_search_by_key(node, |holder| holder.node);
        let left = holder.map_or(Amount::default(), |at| process.leaked_stacks[at].held);
        owned.stacks.push((stack, left));
        owned.amount.add(&left);
    }
    let over_ns = process.end_ns.saturating_sub(process.half_life_ns);
    let found = by_owner.values().filter_map(|(levels, owned)| {
        let evidence = evidence(levels, owned.amount, number, over_ns)?;
        let is_short = life_ns < SHORT_LIFE_NS;
        let sure = judge::confidence(answer);
        let rise = levels[GROWTH_STEPS].saturating_sub(levels[0]).unsigned_abs();
        (!judge::may_be_freed(rise, process)).then(|| Finding {
            kind: Kind::Growth,
            severity: if is_short && process.ended == Ended::Exited {
                Level::Low
            } else {
                judge::of_bytes(rise, answer)
            },
            confidence: if is_short { Level::Low } else { sure },
            evidence,
            culprits: vec![owned.culprit()],
            more: 0,
        })
    });
    found.collect()
}

/// What an owner's levels say, if they rise.
fn evidence(
    levels: &[i64; GROWTH_STEPS + 1],
    left: Amount,
    process: usize,
    over_ns: u64,
) -> Option<Evidence> {
    let [from, to] = [levels[0], levels[GROWTH_STEPS]].map(|level| u64::try_from(level).unwrap_or(0));
    let rise = to.saturating_sub(from);
    let rising = levels.windows(2).filter(|pair| pair[1] > pair[0]).count() as u64;
    let is_growth = rising >= GROWTH_RISING_STEPS
        && rise >= GROWTH_BYTES
        && judge::is_part(rise, GROWTH_PERCENT, to)
        && judge::is_part(left.bytes, GROWTH_LEFT_PERCENT, rise);
    let (slope, error) = line(levels);
    let per_second = GROWTH_STEPS as f64 * 1e9 / over_ns.max(1) as f64;
    is_growth.then_some(Evidence::Growth {
        process,
        from_bytes: from,
        to_bytes: to,
        over_ns,
        bytes_per_second: slope * per_second,
        error: error * per_second,
        rising_steps: rising,
    })
}

/// The slope of a straight line through equally distant levels by least squares, a step, and its standard error.
fn line(levels: &[i64; GROWTH_STEPS + 1]) -> (f64, f64) {
    let n = levels.len() as f64;
    let mean_x = (n - 1.0) / 2.0;
    let mean_y = levels.iter().map(|level| *level as f64).sum::<f64>() / n;
    let points = || levels.iter().enumerate().map(|(x, y)| (x as f64 - mean_x, *y as f64 - mean_y));
    let spread = points().map(|(x, _)| x * x).sum::<f64>();
    let slope = points().map(|(x, y)| x * y).sum::<f64>() / spread;
    let rest = points().map(|(x, y)| (y - slope * x).powi(2)).sum::<f64>();
    (slope, (rest / (n - 2.0) / spread).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(levels: [i64; GROWTH_STEPS + 1], left_bytes: u64, expected: bool) {
        let left = Amount { blocks: 1, bytes: left_bytes };
        assert_eq!(evidence(&levels, left, 0, 1_000_000_000).is_some(), expected, "{levels:?}");
    }

    #[test]
    fn growth_goes_on_and_a_cache_does_not() {
        let k = |levels: [i64; GROWTH_STEPS + 1]| levels.map(|level| level << 10);
        check(k([80, 90, 100, 110, 120, 130, 140, 150, 160]), 160 << 10, true);
        check(k([80, 90, 100, 110, 120, 130, 140, 150, 160]), 0, false);
        check(k([80, 80, 160, 160, 160, 160, 160, 160, 160]), 160 << 10, false);
        check(k([0, 100, 0, 100, 0, 100, 0, 100, 80]), 80 << 10, false);
        check(k([1000, 1002, 1004, 1006, 1008, 1010, 1012, 1014, 1016]), 1016 << 10, false);
        check([0, 1, 2, 3, 4, 5, 6, 7, 8], 8, false);
    }

    #[test]
    fn the_rate_is_that_of_a_straight_line_and_has_its_error() {
        let (slope, error) = line(&[0, 10, 20, 30, 40, 50, 60, 70, 80]);
        assert!((slope - 10.0).abs() < 1e-9 && error < 1e-9, "{slope} {error}");
        // By hand: sum of x y is 540 of 60, and the rest 2 x 400 + ... over 7.
        let (slope, error) = line(&[0, 0, 20, 20, 40, 40, 60, 60, 80]);
        assert!((slope - 10.0).abs() < 1e-9 && error > 0.0, "{slope} {error}");
    }
}
