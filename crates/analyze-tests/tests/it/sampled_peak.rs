//! The peak of sampled recordings against the truth: of heaps that stay as they are, grow, rise once, or have blocks
//! that live for a moment, the range of the peak holds the truth in at least 95 of 100 samplings.

use crate::common::population::{BlockNumber, Chance, Population};
use crate::erased::analyze;
use heapscribe_analyze::Options;

const RUNS: u64 = 200;

/// Blocks of these sizes, of which one that is chosen by chance is replaced by a new one so often.
fn replace(of: &mut Population, live: &mut [BlockNumber], chance: &mut Chance, times: usize, size: Sizes) {
    for _ in 0..times {
        let at = (chance.uniform() * live.len() as f64) as usize;
        of.free(live[at]);
        live[at] = of.alloc(1, size(chance));
    }
}

type Sizes = fn(&mut Chance) -> u64;

fn some(of: &mut Population, chance: &mut Chance, blocks: usize, size: Sizes) -> Vec<BlockNumber> {
    (0..blocks).map(|_| of.alloc(1, size(chance))).collect()
}

fn steady(blocks: usize, times: usize, size: Sizes) -> Population {
    let (mut of, mut chance) = (Population::default(), Chance(7));
    let mut live = some(&mut of, &mut chance, blocks, size);
    replace(&mut of, &mut live, &mut chance, times, size);
    of
}

/// The share of samplings whose range holds the truth, whose ends are on the wrong side of it, and how wide the range
/// is in the middle.
fn check(name: &str, population: &Population, width: f64) {
    let truth = population.peak_bytes() as f64;
    let (mut too_high, mut too_low, mut widths, mut values) = (0, 0, Vec::new(), Vec::new());
    for seed in 1..=RUNS {
        let answer = analyze(&population.sampled(seed), &Options::default());
        let sampling = answer.sampling.as_ref().expect("a sampled recording");
        let peak = sampling.peak.bytes;
        assert_eq!(peak.value, answer.peak.bytes as f64);
        assert!(peak.low <= peak.value && peak.value <= peak.high, "{peak:?}");
        too_high += u64::from(peak.low > truth);
        too_low += u64::from(peak.high < truth);
        widths.push((peak.low / truth, peak.high / truth));
        values.push(peak.value / truth);
    }
    let held = RUNS - too_high - too_low;
    let middle = |of: &mut Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of[of.len() / 2]
    };
    let low = middle(&mut widths.iter().map(|width| width.0).collect());
    let high = middle(&mut widths.iter().map(|width| width.1).collect());
    println!(
        "{name}: {held} of {RUNS} ranges hold {truth} bytes, {too_high} are above, {too_low} below; half of them \
         reach from {low:.2} to {high:.2} of it, estimate {:.2}",
        middle(&mut values)
    );
    assert!(held * 100 >= RUNS * 95, "{name}: {held}");
    assert!(high - low < width, "{name}: from {low} to {high}");
}

#[test]
fn a_level_that_stays() {
    check("steady", &steady(1000, 20_000, |_| 128), 3.0);
    check("steady, few samples", &steady(300, 20_000, |_| 128), 5.0);
    check("steady, many samples", &steady(4000, 20_000, |_| 512), 1.0);
}

#[test]
fn blocks_of_all_sizes() {
    let size = |chance: &mut Chance| (16.0 * (4096f64).powf(chance.uniform())) as u64;
    check("all sizes", &steady(100, 10_000, size), 2.0);
    let size = |chance: &mut Chance| (1.0 + 250.0 * chance.uniform()) as u64;
    check("sizes up to 250 bytes", &steady(1000, 20_000, size), 3.0);
}

#[test]
fn a_heap_that_grows() {
    let (mut of, mut chance) = (Population::default(), Chance(8));
    let mut live = Vec::new();
    for _ in 0..30 {
        live.append(&mut some(&mut of, &mut chance, 100, |_| 128));
        replace(&mut of, &mut live, &mut chance, 500, |_| 128);
    }
    check("ramp", &of, 1.5);
}

#[test]
fn a_single_burst() {
    let (mut of, mut chance) = (Population::default(), Chance(9));
    let mut live = some(&mut of, &mut chance, 1000, |_| 128);
    replace(&mut of, &mut live, &mut chance, 10_000, |_| 128);
    let burst = some(&mut of, &mut chance, 2000, |_| 128);
    burst.into_iter().for_each(|block| of.free(block));
    replace(&mut of, &mut live, &mut chance, 10_000, |_| 128);
    check("burst", &of, 1.5);
}

#[test]
fn many_that_live_for_a_moment() {
    let (mut of, mut chance) = (Population::default(), Chance(10));
    some(&mut of, &mut chance, 500, |_| 128);
    for _ in 0..30_000 {
        let block = of.alloc(2, 256);
        of.free(block);
    }
    check("short-lived", &of, 3.0);
}
