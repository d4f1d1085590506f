//! A unit as a reader has it: the bytes of the file, or only what of them is not zero, by pieces of the size of a slot. Of a
//! table of gigabytes, most entries are those of granules in which no block begins.

use crate::limits::LIVE_UNIT_BYTES;
use crate::live::{SLOT_BYTES, UNIT_SLOTS};

/// The two words of a slot.
pub type SlotWords = [u64; 2];

/// A bit for each slot of a unit, those of the first 64 in the first word.
pub type SlotBits = [u64; UNIT_SLOTS / 64];

/// What there is of a unit.
#[derive(Clone, Copy, Debug)]
pub enum Unit<'a> {
    /// The file has a hole: all is zero.
    Hole,
    /// Its bytes.
    Whole(&'a [u8; LIVE_UNIT_BYTES]),
    /// Some slots; all others are zero.
    Sparse {
        /// Which they are.
        present: &'a SlotBits,
        /// Their words, in order.
        slots: &'a [SlotWords],
    },
}

impl<'a> From<Option<&'a [u8; LIVE_UNIT_BYTES]>> for Unit<'a> {
    fn from(bytes: Option<&'a [u8; LIVE_UNIT_BYTES]>) -> Unit<'a> {
        bytes.map_or(Unit::Hole, Unit::Whole)
    }
}

impl Unit<'_> {
    /// The words of a slot.
    pub fn slot(&self, at: usize) -> SlotWords {
        match self {
            Unit::Hole => [0; 2],
            Unit::Whole(bytes) => bytes.as_chunks().0.get(at).map_or([0; 2], slot_words),
            Unit::Sparse { present, slots } => {
                let (word, bit) = (at / 64, at % 64);
                let Some(bits) = present.get(word).filter(|bits| **bits >> bit & 1 != 0) else {
                    return [0; 2];
                };
                let before = (bits & ((1 << bit) - 1)).count_ones();
                let rank = present[..word].iter().fold(before, |sum, bits| sum + bits.count_ones());
                slots.get(rank as usize).copied().unwrap_or_default()
            }
        }
    }

    /// Hands each slot that is not zero to `visit`, by number.
    #[inline]
    pub fn for_each_slot(&self, mut visit: impl FnMut(usize, SlotWords)) {
        match self {
            Unit::Hole => {}
            Unit::Whole(bytes) => {
                let slots = bytes.as_chunks().0.iter().map(slot_words).enumerate();
                slots.filter(|(_, words)| *words != [0; 2]).for_each(|(at, words)| visit(at, words));
            }
            Unit::Sparse { present, slots } => {
                let numbers = present.iter().enumerate().flat_map(|(word, bits)| ones(*bits, word * 64));
                numbers.zip(slots.iter()).for_each(|(at, words)| visit(at, *words));
            }
        }
    }
}

/// The numbers of the bits that are set, the first of which has this number.
fn ones(mut bits: u64, first: usize) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let at = bits.trailing_zeros();
        (at < u64::BITS).then(|| {
            bits &= bits - 1;
            first + at as usize
        })
    })
}

/// The words in the bytes of a slot.
#[inline(always)]
pub fn slot_words(bytes: &[u8; SLOT_BYTES]) -> SlotWords {
    let word = |n: usize| u64::from_le_bytes(core::array::from_fn(|i| bytes[8 * n + i]));
    [word(0), word(1)]
}
