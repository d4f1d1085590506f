//! Classes of sizes. A row is a power of two, cut into 32 columns; row 0 has the sizes below 512 bytes, one
//! to a column.
//!
//! ```text
//!   granules of 16 bytes    row        column          a class holds
//!        2 ..   31           0         granules        one size
//!       32 ..   63           1         granules - 32   one size
//!       64 ..  127           2         / 2  - 32       2 sizes
//!     2^k .. 2^(k+1) - 1    k - 4      / 2^(k-5) - 32  2^(k-5) sizes: 1/32 of the row's first
//! ```

/// Sizes of blocks are multiples of this.
pub(crate) const GRANULE: usize = 16;
/// Columns of a row.
pub(super) const COLUMNS: usize = 32;
const COLUMNS_LOG2: u32 = COLUMNS.ilog2();
/// Rows: enough for blocks of less than 2^48 bytes, more than user space has addresses.
pub(super) const ROWS: usize = 40;
/// The first size that has no class.
pub(super) const TOTAL_END: usize = GRANULE << (ROWS as u32 - 1 + COLUMNS_LOG2);

const _: () = assert!(TOTAL_END == 1 << 48);

/// A class, below [`ROWS`] and [`COLUMNS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Class {
    pub(super) row: u32,
    pub(super) column: u32,
}

impl Class {
    /// The class in which free blocks of `total` bytes are kept. Without branches: sizes come in no order that
    /// a processor could guess.
    #[inline(always)]
    pub(super) const fn of(total: usize) -> Class {
        let granules = total / GRANULE;
        let shift = shift_of(granules);
        let row = shift + (granules >= COLUMNS) as u32;
        Class { row, column: (granules >> shift) as u32 & (COLUMNS as u32 - 1) }
    }

    /// The first class whose blocks all have at least `total` bytes; `None` when no block can have.
    #[inline(always)]
    pub(super) const fn fitting(total: usize) -> Option<Class> {
        let step = GRANULE << shift_of(total / GRANULE);
        let rounded = total.saturating_add(step - 1);
        if rounded < TOTAL_END { Some(Class::of(rounded)) } else { None }
    }
}

/// By how many bits the granules of a row's classes are cut: 0 in the first two rows.
#[inline(always)]
const fn shift_of(granules: usize) -> u32 {
    (granules | COLUMNS).ilog2() - COLUMNS_LOG2
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
        let number = |class: Class| class.row as usize * COLUMNS + class.column as usize;
        let mut all: Vec<usize> = sizes().collect();
        all.sort_unstable();
        assert!(all.iter().all(|&n| {
            let class = Class::of(n);
            (class.row as usize) < ROWS && (class.column as usize) < COLUMNS
        }));
        assert!(all.windows(2).all(|w| number(Class::of(w[0])) <= number(Class::of(w[1]))));
    }

    #[test]
    fn every_block_of_a_fitting_class_is_large_enough() {
        for total in sizes() {
            let Some(fitting) = Class::fitting(total) else { continue };
            // One granule less than the request would be in an earlier class, unless it is the same size.
            assert_ne!(Class::of(total - GRANULE), fitting, "{total}");
            let spare = total / COLUMNS + GRANULE;
            let found = Class::of(total + spare);
            assert!(
                (found.row, found.column) >= (fitting.row, fitting.column),
                "{total}: over 1/32 of waste"
            );
        }
        assert_eq!(Class::fitting(TOTAL_END), None);
        assert_eq!(Class::fitting(usize::MAX), None);
    }
}
