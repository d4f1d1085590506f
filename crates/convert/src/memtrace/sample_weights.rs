//! How many of a file's samples a block stands for.
//!
//! A memtrace file has one rate. Blocks that were drawn at that rate stand for one sample or, when they
//! are large, for more. Of blocks that were recorded at a finer rate, because the mode was changed,
//! some are dropped: each is retained with the chance that the file's rate would have given it. Which ones is
//! decided by the block's birth, so that it is the same whenever it is asked.

use std::collections::BTreeMap;

use heapscribe_wire::ids::RateId;

use crate::block_identity::BlockIdentity;
use crate::in_order::mixed;

/// Bytes of a word in the files that are written.
pub(super) const WORD_BYTES: u64 = 8;
/// Expectations this close to 1 are 1: they differ by the rounding of floats.
const ALMOST_ONE: f64 = 0.999;

/// The rates of a process, and that of the file.
#[derive(Debug)]
pub(super) struct SampleWeights {
    samples_per_byte: f64,
    is_whole: bool,
    means: BTreeMap<u8, u64>,
}

impl SampleWeights {
    /// For a file in which each word is drawn with this chance.
    pub(super) fn new(sample_rate: f64) -> SampleWeights {
        let samples_per_byte = sample_rate / WORD_BYTES as f64;
        SampleWeights { samples_per_byte, is_whole: sample_rate >= 1.0, means: BTreeMap::new() }
    }

    /// Defines what a rate's number means.
    pub(super) fn rate(&mut self, rate: RateId, mean_bytes: u64) {
        self.means.insert(rate.0, mean_bytes);
    }

    /// The samples of a block; 0 for one that is not drawn.
    pub(super) fn samples(&self, size_bytes: u64, rate: RateId, birth: BlockIdentity) -> i64 {
        let size = size_bytes as f64;
        let weight = match self.means.get(&rate.0).filter(|_| rate != RateId::FULL) {
            // Samples of ours never hit a block without bytes; those of memtrace hit its header.
            Some(_) if size_bytes == 0 => return 1,
            Some(mean) => -size / (-size / *mean as f64).exp_m1(),
            None => size,
        };
        let expected = weight * self.samples_per_byte;
        if self.is_whole || expected >= ALMOST_ONE {
            return (expected.round() as i64).max(1);
        }
        i64::from(mixed(u64::from(birth.thread) << 48 ^ birth.ticks) < (expected * u64::MAX as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn birth(thread: u32, ticks: u64) -> BlockIdentity {
        BlockIdentity { thread, ticks }
    }

    fn drawing(mean_bytes: u64) -> SampleWeights {
        let mut drawing = SampleWeights::new((8.0 / mean_bytes as f64).min(1.0));
        drawing.rate(RateId(1), mean_bytes);
        drawing
    }

    #[test]
    fn a_block_that_was_drawn_at_the_files_rate_has_a_sample_or_more() {
        let drawing = drawing(1000);
        for (size, samples) in [(0, 1), (1, 1), (100, 1), (1000, 2), (10_000, 10), (1 << 20, 1049)] {
            assert_eq!(drawing.samples(size, RateId(1), birth(1, size)), samples, "{size}");
        }
    }

    #[test]
    fn where_every_block_is_recorded_each_stays() {
        let drawing = drawing(8);
        for (size, samples) in [(0, 1), (1, 1), (8, 1), (12, 2), (80, 10)] {
            assert_eq!(drawing.samples(size, RateId::FULL, birth(1, size)), samples, "{size}");
        }
    }

    #[test]
    fn of_blocks_of_a_finer_rate_some_stay_and_the_sum_holds() {
        let drawing = drawing(1000);
        let sum: i64 = (0..100_000).map(|ticks| drawing.samples(20, RateId::FULL, birth(3, ticks))).sum();
        // 2,000 are expected, give or take 45.
        assert!((1_800..2_200).contains(&sum), "{sum}");
        assert_eq!(drawing.samples(5_000, RateId::FULL, birth(3, 1)), 5);
    }
}
