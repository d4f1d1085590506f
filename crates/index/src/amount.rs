//! Blocks and bytes that are added and taken away.

use std::ops::Neg;

/// A number of blocks and their bytes, or a difference of two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Amount {
    /// Blocks.
    pub blocks: i64,
    /// Bytes.
    pub bytes: i64,
}

impl Amount {
    /// So many blocks of so many bytes.
    #[inline(always)]
    pub const fn new(blocks: u64, bytes: u64) -> Amount {
        Amount { blocks: blocks as i64, bytes: bytes as i64 }
    }

    /// Adds another. Sums of a damaged trace wrap around.
    #[inline(always)]
    pub fn add(&mut self, other: Amount) {
        self.blocks = self.blocks.wrapping_add(other.blocks);
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }

    /// Whether both are 0.
    pub const fn is_zero(self) -> bool {
        self.blocks == 0 && self.bytes == 0
    }

    /// Both in a row of an index.
    pub(crate) const fn columns(self) -> [u64; 2] {
        [self.blocks as u64, self.bytes as u64]
    }
}

impl Neg for Amount {
    type Output = Amount;

    fn neg(self) -> Amount {
        Amount { blocks: self.blocks.wrapping_neg(), bytes: self.bytes.wrapping_neg() }
    }
}
