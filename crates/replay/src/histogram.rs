//! Counts by how long something took, to 1/32 of it, from a tick to hours.
//! Its memory is there from the beginning: nothing is allocated while a heap is at work.

const STEPS: usize = 32;
const STEPS_LOG2: u32 = STEPS.ilog2();
const BUCKETS: usize = STEPS * (u64::BITS - STEPS_LOG2 + 1) as usize;

/// Counts.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// Of nothing so far.
    pub fn new() -> Histogram {
        // Written to once, so that its pages are not found missing while a call is timed.
        let mut counts = vec![1; BUCKETS];
        counts.fill(0);
        Histogram { counts, total: 0 }
    }

    /// Counts one.
    #[inline(always)]
    pub fn add(&mut self, ticks: u64) {
        self.counts[bucket(ticks)] += 1;
        self.total += 1;
    }

    /// Counts all of another one.
    pub fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += other);
        self.total += other.total;
    }

    /// How many.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What `share` of all took at most; 0 of nothing.
    pub fn percentile(&self, share: f64) -> u64 {
        let rank = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank.max(1)
        });
        found.map_or(0, most)
    }

    /// The most that one took.
    pub fn most(&self) -> u64 {
        self.counts.iter().rposition(|&count| count > 0).map_or(0, most)
    }
}

#[inline(always)]
fn bucket(ticks: u64) -> usize {
    if ticks < STEPS as u64 {
        return ticks as usize;
    }
    let shift = ticks.ilog2() - STEPS_LOG2;
    (shift as usize + 1) * STEPS + ((ticks >> shift) as usize - STEPS)
}

/// The most that is counted in a bucket.
fn most(bucket: usize) -> u64 {
    match (bucket / STEPS, bucket % STEPS) {
        (0, ticks) => ticks as u64,
        (row, step) => {
            (((STEPS + step + 1) as u128) << (row - 1)).saturating_sub(1).min(u128::from(u64::MAX)) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_lies_within_a_32th() {
        for ticks in (0..2000).chain([1 << 20, (1 << 40) + 12345, u64::MAX]) {
            let top = most(bucket(ticks));
            assert!(ticks <= top && top - ticks <= ticks / 32, "{ticks} {top}");
        }
    }

    #[test]
    fn percentiles() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.percentile(0.5), 0);
        (1..=20).for_each(|n| histogram.add(n));
        for (share, expected) in [(0.5, 10), (0.99, 20), (1.0, 20), (0.0, 1)] {
            assert_eq!(histogram.percentile(share), expected, "{share}");
        }
        let other = histogram.clone();
        histogram.merge(&other);
        assert_eq!((histogram.total(), histogram.most()), (40, 20));
    }
}
