//! Blocks by their size.

use std::collections::BTreeMap;

use heapscribe_analyze::answer::Amount;
use heapscribe_index::SizeClass;
use serde::Serialize;

/// Classes of sizes, the smallest first: from one power of two to below the next.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
pub(crate) struct SizeRows {
    from_bytes: Vec<u64>,
    to_bytes: Vec<u64>,
    blocks: Vec<u64>,
    bytes: Vec<u64>,
    /// What is of any size, where the index had to be made coarser.
    unknown_blocks: u64,
    unknown_bytes: u64,
}

/// Adds them up.
pub(crate) fn sizes(amounts: impl Iterator<Item = (SizeClass, Amount)>) -> SizeRows {
    let mut sums = BTreeMap::<SizeClass, Amount>::new();
    for (class, amount) in amounts {
        sums.entry(class).or_default().add(&amount);
    }
    let unknown = sums.remove(&SizeClass::ANY).unwrap_or_default();
    let mut rows =
        SizeRows { unknown_blocks: unknown.blocks, unknown_bytes: unknown.bytes, ..SizeRows::default() };
    for (class, amount) in sums {
        let from_bytes = class.min_bytes();
        rows.from_bytes.push(from_bytes);
        rows.to_bytes.push(from_bytes.saturating_mul(2).saturating_sub(1).max(from_bytes));
        rows.blocks.push(amount.blocks);
        rows.bytes.push(amount.bytes);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_added_up_and_their_sizes_given() {
        let amount = |blocks, bytes| Amount { blocks, bytes };
        let of = |size| SizeClass::of(size);
        let rows = sizes(
            [
                (of(100), amount(1, 100)),
                (of(0), amount(2, 0)),
                (of(64), amount(1, 64)),
                (SizeClass::ANY, amount(5, 50)),
                (of(1), amount(3, 3)),
            ]
            .into_iter(),
        );
        let expected = SizeRows {
            from_bytes: vec![0, 1, 64],
            to_bytes: vec![0, 1, 127],
            blocks: vec![2, 3, 2],
            bytes: vec![0, 3, 164],
            unknown_blocks: 5,
            unknown_bytes: 50,
        };
        assert_eq!(rows, expected);
    }
}
