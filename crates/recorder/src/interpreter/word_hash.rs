//! A hash of a few words: what functions that have no number of their own are known by.

/// Odd numbers without a pattern, one for each word.
const FACTORS: [u64; 6] = [
    0x9e37_79b9_7f4a_7c15,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
];

/// A hash of up to six words, which waits for none of them.
#[inline(always)]
pub(super) fn hash<const WORDS: usize>(words: [usize; WORDS]) -> u64 {
    let products = words.into_iter().zip(FACTORS).map(|(word, factor)| (word as u64).wrapping_mul(factor));
    let sum = products.fold(0u64, u64::wrapping_add);
    sum ^ sum >> 32
}
