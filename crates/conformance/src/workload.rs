//! The sizes that programs ask for: ranges that shift, as the phases of a long-running program do.

/// A pseudo-random number generator (xorshift64*), the same numbers for the same seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// With the numbers of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number.
    #[inline(always)]
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`.
    #[inline(always)]
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.number()) * end as u128) >> 64) as usize
    }
}

/// Sizes from `min` to `max`, log-uniform: each doubling as likely as the other.
#[derive(Clone, Copy, Debug)]
pub struct SizeRange {
    /// The least.
    pub min: usize,
    /// The largest.
    pub max: usize,
}

impl SizeRange {
    /// From `min` to `max`.
    pub const fn new(min: usize, max: usize) -> SizeRange {
        SizeRange { min, max }
    }

    /// The whole range.
    pub const ALL: SizeRange = SizeRange::new(16, 64 << 10);
    /// What phases cycle through.
    pub const SHIFTING: [SizeRange; 5] = [
        SizeRange::new(16, 256),
        SizeRange::new(256, 4 << 10),
        SizeRange::new(4 << 10, 64 << 10),
        SizeRange::new(40, 1500),
        SizeRange::ALL,
    ];

    /// A random size.
    #[inline(always)]
    pub fn size(self, rng: &mut Rng) -> usize {
        // A random doubling of the least, then linearly within it.
        let steps = (self.max / self.min).ilog2() as usize;
        let at = self.min << rng.below(steps.max(1));
        (at + rng.below(at)).min(self.max)
    }
}
