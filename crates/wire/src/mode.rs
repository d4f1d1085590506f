//! What is recorded: a word in the head, read by every hook and changed at any time by anybody who may
//! write the file, so that a running program can be switched from nothing to samples to everything.
//!
//! ```text
//!   bits 0-1   0 off   1 sampled   2 full
//!   bits 2-63  sampled: bytes between two samples, on average
//! ```
//! *Sampled* means that each byte asked for is hit by chance, once in `mean_bytes` on average, each by
//! itself (a Poisson process over the bytes), and that a block is recorded when a byte of it was hit: with
//! probability 1 - exp(-(size + 1) / mean_bytes). The one added to the size lets blocks of no bytes be
//! hit, too. A recorded block stands for 1 / that probability blocks of its kind; sums over them are
//! unbiased.

/// What is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// Nothing new; blocks that were recorded are followed to their end.
    Off,
    /// Blocks that a sample hits.
    Sampled {
        /// Bytes between two samples, on average; at least 1.
        mean_bytes: u64,
    },
    /// Every block.
    #[default]
    Full,
}

const OFF: u64 = 0;
const SAMPLED: u64 = 1;
const FULL: u64 = 2;
const KIND_BITS: u32 = 2;
/// The largest mean that a mode can have.
pub const MEAN_BYTES_MAX: u64 = 1 << 40;

impl Mode {
    /// The word.
    pub const fn to_word(self) -> u64 {
        match self {
            Mode::Off => OFF,
            Mode::Sampled { mean_bytes } => SAMPLED | bounded(mean_bytes) << KIND_BITS,
            Mode::Full => FULL,
        }
    }

    /// The mode of a word. What makes no sense is read as the nearest that does: off.
    pub const fn from_word(word: u64) -> Mode {
        match word & ((1 << KIND_BITS) - 1) {
            SAMPLED => Mode::Sampled { mean_bytes: bounded(word >> KIND_BITS) },
            FULL => Mode::Full,
            _ => Mode::Off,
        }
    }
}

const fn bounded(mean_bytes: u64) -> u64 {
    if mean_bytes == 0 {
        1
    } else if mean_bytes > MEAN_BYTES_MAX {
        MEAN_BYTES_MAX
    } else {
        mean_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mode: Mode, word: u64) {
        assert_eq!(mode.to_word(), word);
        assert_eq!(Mode::from_word(word), mode);
    }

    #[test]
    fn words_round_trip() {
        check(Mode::Off, 0);
        check(Mode::Full, 2);
        check(Mode::Sampled { mean_bytes: 1 }, 5);
        check(Mode::Sampled { mean_bytes: 512 << 10 }, (512 << 10) * 4 + 1);
    }

    #[test]
    fn words_from_elsewhere_are_bounded() {
        assert_eq!(Mode::from_word(3), Mode::Off);
        assert_eq!(Mode::from_word(1), Mode::Sampled { mean_bytes: 1 });
        assert_eq!(Mode::from_word(u64::MAX - 2), Mode::Sampled { mean_bytes: MEAN_BYTES_MAX });
    }
}
