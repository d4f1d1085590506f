//! Classes of sizes. The first level is a power of two, cut into 32 classes of the second level; first level 0
//! has the sizes below 512 bytes, one to a class.
//!
//! ```text
//!   granules of 16 bytes    first level    second level        a class holds
//!        2 ..   31           0              granules            one size
//!       32 ..   63           1              granules - 32       one size
//!       64 ..  127           2              / 2  - 32           2 sizes
//!     2^k .. 2^(k+1) - 1    k - 4           / 2^(k-5) - 32      2^(k-5) sizes: 1/32 of the level's first
//! ```

/// Sizes of blocks are multiples of this.
pub(crate) const GRANULE: usize = 16;
/// Classes of a first level.
pub(super) const SECOND_LEVELS: usize = 32;
const SECOND_LEVELS_LOG2: u32 = SECOND_LEVELS.ilog2();
/// First levels: enough for blocks of less than 2^48 bytes, more than user space has addresses.
pub(super) const FIRST_LEVELS: usize = 40;
/// The first size that has no class.
pub(super) const TOTAL_END: usize = GRANULE << (FIRST_LEVELS as u32 - 1 + SECOND_LEVELS_LOG2);

const _: () = assert!(TOTAL_END == 1 << 48);

/// A class; its levels are below [`FIRST_LEVELS`] and [`SECOND_LEVELS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SizeClass {
    pub(super) first_level: u32,
    pub(super) second_level: u32,
}

impl SizeClass {
    /// The class of free blocks of `total` bytes. Without branches: sizes come in no order that a processor
    /// could guess.
    #[inline(always)]
    pub(super) const fn mapping_insert(total: usize) -> SizeClass {
        let granules = total / GRANULE;
        let shift = shift_of(granules);
        let first_level = shift + (granules >= SECOND_LEVELS) as u32;
        SizeClass { first_level, second_level: (granules >> shift) as u32 & (SECOND_LEVELS as u32 - 1) }
    }

    /// The first class whose blocks all have at least `total` bytes; `None` when no block can have.
    #[inline(always)]
    pub(super) const fn mapping_search(total: usize) -> Option<SizeClass> {
        let step = GRANULE << shift_of(total / GRANULE);
        let rounded = total.saturating_add(step - 1);
        if rounded < TOTAL_END { Some(SizeClass::mapping_insert(rounded)) } else { None }
    }
}

/// By how many bits the granules of a first level's classes are cut: 0 in the first two.
#[inline(always)]
const fn shift_of(granules: usize) -> u32 {
    (granules | SECOND_LEVELS).ilog2() - SECOND_LEVELS_LOG2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> impl Iterator<Item = usize> {
        let near = (5..48).flat_map(|log2| (0..70).map(move |n| (1usize << log2) + n * ((1 << log2) / 64)));
        (2..3000).map(|n| n * GRANULE).chain(near).map(|n| n & !(GRANULE - 1)).filter(|&n| n < TOTAL_END)
    }

    #[test]
    fn classes_grow_with_sizes() {
        let number =
            |class: SizeClass| class.first_level as usize * SECOND_LEVELS + class.second_level as usize;
        let mut all: Vec<usize> = sizes().collect();
        all.sort_unstable();
        assert!(all.iter().all(|&n| {
            let class = SizeClass::mapping_insert(n);
            (class.first_level as usize) < FIRST_LEVELS && (class.second_level as usize) < SECOND_LEVELS
        }));
        let class_of = |total| number(SizeClass::mapping_insert(total));
        assert!(all.windows(2).all(|w| class_of(w[0]) <= class_of(w[1])));
    }

    #[test]
    fn every_block_of_the_class_of_mapping_search_is_large_enough() {
        for total in sizes() {
            let Some(searched) = SizeClass::mapping_search(total) else { continue };
            // One granule less than the request would be in an earlier class, unless it is the same size.
            assert_ne!(SizeClass::mapping_insert(total - GRANULE), searched, "{total}");
            let spare = total / SECOND_LEVELS + GRANULE;
            let wider = SizeClass::mapping_insert(total + spare);
            assert!(
                (wider.first_level, wider.second_level) >= (searched.first_level, searched.second_level),
                "{total}: over 1/32 of waste"
            );
        }
        assert_eq!(SizeClass::mapping_search(TOTAL_END), None);
        assert_eq!(SizeClass::mapping_search(usize::MAX), None);
    }
}
