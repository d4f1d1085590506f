//! Distances between samples against the exponential distribution: their mean and spread, the whole
//! distribution (Kolmogorov-Smirnov), their independence, and that blocks are hit as often as `mode`
//! says. Seeds are fixed; each bound is one that a right generator passes with all but one seed in ten
//! thousand.

use heapscribe_wire::sampler::Sampler;

const DRAWS: usize = 1_000_000;
const MEANS: [u64; 5] = [1, 100, 4096, 512 << 10, 1 << 40];

fn gaps(seed: u64, mean_bytes: u64) -> Vec<u64> {
    let mut sampler = Sampler::new(seed, mean_bytes);
    (0..DRAWS).map(|_| sampler.next_gap(mean_bytes)).collect()
}

/// Mean and variance of whole bytes: those of the geometric distribution with exp(-1 / mean).
fn check_moments(seed: u64, mean_bytes: u64) {
    let gaps = gaps(seed, mean_bytes);
    let n = DRAWS as f64;
    let mean = gaps.iter().map(|&gap| gap as f64).sum::<f64>() / n;
    let variance = gaps.iter().map(|&gap| (gap as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let hit = -f64::exp_m1(-1.0 / mean_bytes as f64);
    let (right_mean, right_variance) = ((1.0 - hit) / hit, (1.0 - hit) / (hit * hit));
    let off = (mean - right_mean) / (right_variance / n).sqrt();
    assert!(off.abs() < 3.9, "mean of {mean_bytes}: {mean}, {off} standard errors from {right_mean}");
    // The fourth central moment is nine times the squared variance, and a little more for small means.
    let of_variance = right_variance * ((8.0 + 1.0 / right_variance) / n).sqrt();
    let off = (variance - right_variance) / of_variance;
    assert!(off.abs() < 3.9, "variance of {mean_bytes}: {variance}, {off} standard errors off");
}

/// The largest distance between the two distributions, at whole bytes where both are steps.
fn check_distribution(seed: u64, mean_bytes: u64) {
    let mut gaps = gaps(seed, mean_bytes);
    gaps.sort_unstable();
    let mut worst = 0f64;
    for (at, pair) in gaps.windows(2).enumerate().filter(|(_, pair)| pair[0] != pair[1]) {
        let upto = -f64::exp_m1(-((pair[0] + 1) as f64) / mean_bytes as f64);
        worst = worst.max((upto - (at + 1) as f64 / DRAWS as f64).abs());
    }
    // 2.23 is where Kolmogorov's distribution has one ten-thousandth left.
    let distance = worst * (DRAWS as f64).sqrt();
    assert!(distance < 2.23, "mean {mean_bytes}: Kolmogorov-Smirnov {distance}");
}

/// Neighbours have nothing to do with each other.
fn check_independence(seed: u64, mean_bytes: u64) {
    let gaps = gaps(seed, mean_bytes);
    let mean = mean_bytes as f64;
    let product = |pair: &[u64]| (pair[0] as f64 / mean - 1.0) * (pair[1] as f64 / mean - 1.0);
    let correlation = gaps.windows(2).map(product).sum::<f64>() / DRAWS as f64;
    assert!(correlation.abs() < 3.9 / (DRAWS as f64).sqrt(), "mean {mean_bytes}: {correlation}");
}

/// Blocks of one size, each counted down as the recorder does.
fn check_hits(size_bytes: u64, mean_bytes: u64) {
    let mut sampler = Sampler::new(9, size_bytes);
    let mut gap = sampler.next_gap(mean_bytes);
    let mut hits = 0u32;
    for _ in 0..DRAWS {
        if gap < size_bytes + 1 {
            hits += 1;
            gap = sampler.next_gap(mean_bytes);
        } else {
            gap -= size_bytes + 1;
        }
    }
    let p = -f64::exp_m1(-((size_bytes + 1) as f64) / mean_bytes as f64);
    let n = DRAWS as f64;
    let off = (f64::from(hits) - n * p) / (n * p * (1.0 - p)).sqrt().max(1.0);
    assert!(off.abs() < 3.9, "{size_bytes} of {mean_bytes}: {hits} hits, {off} standard errors off");
}

#[test]
fn mean_and_variance_are_those_of_the_distribution() {
    MEANS.iter().enumerate().for_each(|(i, &mean)| check_moments(10 + i as u64, mean));
}

#[test]
fn distances_are_exponential() {
    MEANS.iter().enumerate().for_each(|(i, &mean)| check_distribution(20 + i as u64, mean));
}

#[test]
fn distances_do_not_depend_on_each_other() {
    MEANS[2..].iter().enumerate().for_each(|(i, &mean)| check_independence(30 + i as u64, mean));
}

#[test]
fn blocks_are_hit_with_their_probability() {
    for (size_bytes, mean_bytes) in
        [(0, 1), (0, 512), (24, 512), (24, 4096), (4000, 4096), (100_000, 4096), (64 << 10, 512 << 10)]
    {
        check_hits(size_bytes, mean_bytes);
    }
}

/// Streams of one seed, one draw of each: as good as draws of one stream.
#[test]
fn streams_do_not_depend_on_each_other() {
    let first = |stream| Sampler::new(77, stream).next_gap(1 << 20) as f64 / f64::from(1 << 20);
    let n = 100_000u32;
    let firsts: Vec<f64> = (0..u64::from(n)).map(first).collect();
    let mean = firsts.iter().sum::<f64>() / f64::from(n);
    assert!((mean - 1.0).abs() < 3.9 / f64::from(n).sqrt(), "{mean}");
    let product: f64 = firsts.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)).sum();
    assert!((product / f64::from(n)).abs() < 3.9 / f64::from(n).sqrt(), "{product}");
}
