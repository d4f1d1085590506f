//! Sampled blocks: how many blocks each stands for, and how far sums over them may be off.
//!
//! A block of size `s` that was recorded with probability `p = 1 - exp(-(s + 1) / mean)` stands for `1 / p`
//! blocks (Horvitz and Thompson: sums are then right on average, whatever the sizes are). That is rounded
//! to a whole number, up or down by chance so that it stays right on average; the chance comes from the
//! block's name, its thread and birth, so that a block is the same number when it is allocated, when it is
//! freed and when it is looked at again. All sums are then over whole numbers, the same in any order on any core,
//! and what was allocated less what was freed is what is live.
//!
//! With a block's figure `x` (1, or its bytes) and the figure `y` that it stands for, `y (y - x)` is what
//! it adds to the variance of a sum, rounding included: a block's true part of the variance is
//! `p E[y^2] - x^2`, and each block is seen with probability `p`. `y (y - x)^2` is its part in how much
//! the sum leans to one side, see [`crate::answer::estimate`].
//!
//! A sample can be split into two that know nothing of each other, see [`super::peak_range`]: every hit of a block is in
//! one of two halves, so that a half hits a block with probability `1 - q`, `q = exp(-(s + 1) / 2 mean) = sqrt(1 - p)`, by
//! itself. Of a block that was hit at all, that is in one half alone with probability `q / (1 + q)` for each of them,
//! else in both. Where it is, it stands for `1 / (1 - q)` blocks.

use heapscribe_wire::limits::BIRTH_BITS;

/// A half of the sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// One of them.
    First,
    /// The other one.
    Second,
}

impl Half {
    /// Both, each at its place.
    pub(crate) const ALL: [Half; 2] = [Half::First, Half::Second];

    /// The one that is not this.
    pub(crate) fn other(self) -> Half {
        if self == Half::First { Half::Second } else { Half::First }
    }
}

/// The halves that hit a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HitBy {
    One(Half),
    Both,
}

impl HitBy {
    /// By a number from 0 to below 1.
    fn chosen(chance: f64, q: f64) -> HitBy {
        let one = q / (1.0 + q);
        match chance {
            first if first < one => HitBy::One(Half::First),
            second if second < 2.0 * one => HitBy::One(Half::Second),
            _ => HitBy::Both,
        }
    }
}

/// What a recorded block stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weight {
    /// Blocks.
    pub blocks: u64,
    /// Bytes.
    pub bytes: u64,
    hit_by: HitBy,
}

impl Weight {
    /// A block of a recording of every block: itself.
    #[inline(always)]
    pub const fn one(size_bytes: u64) -> Weight {
        Weight { blocks: 1, bytes: size_bytes, hit_by: HitBy::Both }
    }

    /// A block sampled at this mean; a mean of 0 is no sampling.
    #[cold]
    pub(crate) fn of(size_bytes: u64, mean_bytes: u64, birth: Birth) -> Weight {
        if mean_bytes == 0 {
            return Weight::one(size_bytes);
        }
        let hits = (size_bytes as f64 + 1.0) / mean_bytes as f64;
        let probability = -f64::exp_m1(-hits);
        let [chance, chance_of_half] = birth.chances();
        // Conversions from floating point stay within the type.
        let rounded = |figure: u64| ((figure as f64 / probability + chance) as u64).max(figure);
        let hit_by = HitBy::chosen(chance_of_half, (-hits / 2.0).exp());
        Weight { blocks: rounded(1), bytes: rounded(size_bytes), hit_by }
    }

    /// What a sampled block of this size stands for in a half of the sample.
    pub(crate) fn in_half(self, size_bytes: u64, half: Half) -> Weight {
        let of = |figure, stands_for| if self.is_in(half) { of_half(figure, stands_for) } else { 0 };
        Weight { blocks: of(1, self.blocks), bytes: of(size_bytes, self.bytes), ..self }
    }

    fn is_in(self, half: Half) -> bool {
        self.hit_by == HitBy::Both || self.hit_by == HitBy::One(half)
    }
}

/// What a block stands for in a half that hit it: `x / (1 - q) = y (1 + q)`, and `q^2 = (y - x) / y`.
fn of_half(figure: u64, stands_for: u64) -> u64 {
    let more = stands_for.saturating_sub(figure);
    // Conversions from floating point stay within the type.
    stands_for.saturating_add((stands_for as f64 * more as f64).sqrt() as u64)
}

/// What names a block: the thread that allocated it, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Birth {
    pub(crate) thread: u32,
    pub(crate) ticks: u64,
}

impl Birth {
    /// Numbers from 0 to below 1, of this block and no other.
    fn chances(self) -> [f64; 2] {
        let birth = self.ticks & ((1 << BIRTH_BITS) - 1);
        let mut bits = (birth ^ (u64::from(self.thread) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        [0, 0].map(|_| {
            bits = (bits ^ (bits >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            bits ^= bits >> 32;
            (bits >> 11) as f64 / (1u64 << 53) as f64
        })
    }
}

/// Sums over one figure of sampled blocks. Sums that would overflow stay at their limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Moment {
    /// Their own figures.
    pub(crate) own: i128,
    /// What they stand for.
    pub(crate) value: i128,
    pub(crate) variance: i128,
    pub(crate) lean: i128,
    /// What they stand for in each half of the sample, see [`Half`].
    pub(crate) halves: [HalfMoment; 2],
}

/// Sums over one figure of blocks that a half of the sample hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HalfMoment {
    pub(crate) value: i128,
    pub(crate) variance: i128,
}

impl Moment {
    fn of(figure: u64, stands_for: u64, weight: Weight) -> Moment {
        let (value, more) = (i128::from(stands_for), i128::from(stands_for.saturating_sub(figure)));
        let variance = value.saturating_mul(more);
        let in_half = i128::from(of_half(figure, stands_for));
        let hit = HalfMoment {
            value: in_half,
            variance: in_half.saturating_mul(in_half.saturating_sub(i128::from(figure))),
        };
        let half = |half| if weight.is_in(half) { hit } else { HalfMoment::default() };
        Moment {
            own: i128::from(figure),
            value,
            variance,
            lean: variance.saturating_mul(more),
            halves: Half::ALL.map(half),
        }
    }

    /// Adds others.
    pub(crate) fn add(&mut self, other: &Moment) {
        self.merge(other, 1);
    }

    fn merge(&mut self, other: &Moment, sign: i128) {
        self.own = self.own.saturating_add(sign * other.own);
        self.value = self.value.saturating_add(sign * other.value);
        self.variance = self.variance.saturating_add(sign * other.variance);
        self.lean = self.lean.saturating_add(sign * other.lean);
        for (mine, theirs) in self.halves.iter_mut().zip(&other.halves) {
            mine.value = mine.value.saturating_add(sign * theirs.value);
            mine.variance = mine.variance.saturating_add(sign * theirs.variance);
        }
    }
}

/// Sums over sampled blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Moments {
    /// How many blocks were sampled.
    pub(crate) samples: i64,
    pub(crate) blocks: Moment,
    pub(crate) bytes: Moment,
}

impl Moments {
    /// Those of one block.
    pub(crate) fn of(size_bytes: u64, weight: Weight) -> Moments {
        let of = |figure, stands_for| Moment::of(figure, stands_for, weight);
        let (blocks, bytes) = (of(1, weight.blocks), of(size_bytes, weight.bytes));
        Moments { samples: 1, blocks, bytes }
    }

    /// Adds others.
    pub(crate) fn add(&mut self, other: &Moments) {
        self.merge(other, 1);
    }

    /// Takes others, of blocks that are among these, out again.
    pub(crate) fn remove(&mut self, other: &Moments) {
        self.merge(other, -1);
    }

    fn merge(&mut self, other: &Moments, sign: i128) {
        self.samples = self.samples.wrapping_add(other.samples.wrapping_mul(sign as i64));
        self.blocks.merge(&other.blocks, sign);
        self.bytes.merge(&other.bytes, sign);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over many blocks of one size, whole numbers are right on average, and so is their variance.
    fn check(size_bytes: u64, mean_bytes: u64) {
        const BLOCKS: u32 = 100_000;
        let p = -f64::exp_m1(-(size_bytes as f64 + 1.0) / mean_bytes as f64);
        let mut sum = Moments::default();
        for birth in 0..BLOCKS {
            let weight =
                Weight::of(size_bytes, mean_bytes, Birth { thread: birth % 3, ticks: u64::from(birth) * 77 });
            assert!(weight.blocks >= 1 && weight.bytes >= size_bytes);
            sum.add(&Moments::of(size_bytes, weight));
        }
        let n = f64::from(BLOCKS);
        for (moment, x) in [(sum.blocks, 1.0), (sum.bytes, size_bytes as f64)] {
            // Rounding is off by at most a half, mostly by less.
            let off = (moment.value as f64 - n * x / p) / (0.5 * n.sqrt());
            assert!(off.abs() < 4.0, "{size_bytes} of {mean_bytes}: {off} standard errors off");
            let rounding = (x / p).fract() * (1.0 - (x / p).fract());
            let expected = n * ((1.0 - p) / (p * p) * x * x + rounding);
            let off = (moment.variance as f64 - expected) / (x / p * n.sqrt() + 1.0);
            assert!(off.abs() < 4.0, "{size_bytes} of {mean_bytes}: variance {off} off");
        }
    }

    #[test]
    fn shares_are_right_on_average() {
        for (size_bytes, mean_bytes) in
            [(0, 1), (0, 512), (24, 1), (24, 64), (24, 512 << 10), (700, 512), (1 << 20, 512 << 10)]
        {
            check(size_bytes, mean_bytes);
        }
    }

    #[test]
    fn hostile_sizes_stay_at_the_limit() {
        let weight = Weight::of(u64::MAX, u64::MAX, Birth { thread: 0, ticks: 0 });
        assert_eq!(weight.bytes, u64::MAX);
        let mut sum = Moments::of(0, weight);
        for _ in 0..100 {
            let twice = sum;
            sum.add(&twice);
        }
        assert_eq!(sum.bytes.lean, i128::MAX);
        assert_eq!(Weight::of(5, 0, Birth { thread: 0, ticks: 0 }), Weight::one(5));
    }
}
