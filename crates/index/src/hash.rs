//! A hash for tables that are looked into once for each chunk, leaf and key. Their keys are numbers that we gave
//! ourselves, so that no one can choose them to be slow: the hash need not be safe against that.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table with that hash.
pub(crate) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mixed>>;

/// Multiplies, as FxHash does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mixed(u64);

impl Mixed {
    #[inline(always)]
    fn mix(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.mix(u64::from(*byte)));
    }

    fn write_u8(&mut self, n: u8) {
        self.mix(u64::from(n));
    }

    fn write_u32(&mut self, n: u32) {
        self.mix(u64::from(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.mix(n);
    }

    /// The best bits of a product are the upper ones, and tables take the lower.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}
