//! What programs ask for, as far as sizes go: bands that shift, as the phases of a long-running program do.

/// Numbers that look random and are the same each time (xorshift64*).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Other numbers for another seed.
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
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

/// Sizes from the first to the second, each doubling as likely as the other.
#[derive(Clone, Copy, Debug)]
pub struct Band(pub usize, pub usize);

impl Band {
    /// All that there is.
    pub const ALL: Band = Band(16, 64 << 10);
    /// What phases cycle through.
    pub const SHIFTING: [Band; 5] =
        [Band(16, 256), Band(256, 4 << 10), Band(4 << 10, 64 << 10), Band(40, 1500), Band(16, 64 << 10)];

    /// A size.
    #[inline(always)]
    pub fn size(self, chance: &mut Chance) -> usize {
        // Log-uniform: a doubling by the number's place between the two, then linearly within it.
        let steps = (self.1 / self.0).ilog2() as usize;
        let at = self.0 << chance.below(steps.max(1));
        (at + chance.below(at)).min(self.1)
    }
}
