//! Sums as rows of a section: sorted, so that they can be looked up, and in differences, so that they are small.

use crate::hash::Table;

use crate::amount::Amount;
use crate::key::KeyId;

/// Rows of key, blocks, bytes; keys as differences.
pub(super) fn rows_by_key(sums: Table<KeyId, Amount>) -> Vec<[u64; 3]> {
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|(key, _)| *key);
    let mut before = 0;
    let row = |(KeyId(key), amount): (KeyId, Amount)| {
        let more = key - before;
        before = key;
        let [blocks, bytes] = amount.columns();
        [u64::from(more), blocks, bytes]
    };
    sums.into_iter().map(row).collect()
}

/// Rows of leaf or step of birth, or class of lifetimes, and key, blocks, bytes; keys of one such number as differences.
pub(super) fn rows_by_number(sums: Table<(u32, KeyId), Amount>) -> Vec<[u64; 4]> {
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|(place, _)| *place);
    let mut before = (0, 0);
    let row = |((number, KeyId(key)), amount): ((u32, KeyId), Amount)| {
        let more = if number == before.0 { key - before.1 } else { key };
        before = (number, key);
        let [blocks, bytes] = amount.columns();
        [u64::from(number), u64::from(more), blocks, bytes]
    };
    sums.into_iter().map(row).collect()
}
