//! Heavy hitters: which keys have most of a stream's weight, in memory that does not grow with the stream.
//!
//! Misra and Gries's algorithm with weights, pruned in batches. In pseudo-code:
//!
//! ```text
//!   add(key, weight):  count[key] += weight
//!                      more than 2 n keys:  m = the (n+1)th largest count
//!                                           every count -= m, those that are 0 or less go;  error += m
//! ```
//! Each time n + 1 counts and more lose m each, so that the error is at most the whole weight / (n + 1). A
//! key's true weight lies between its count and its count plus the error; a key that is not there has at
//! most the error.

use std::collections::HashMap;
use std::hash::Hash;

/// Counts of the heaviest keys of a stream.
#[derive(Clone, Debug)]
pub struct Heavy<K> {
    counts: HashMap<K, u64>,
    entries: usize,
    error: u64,
    total: u64,
}

impl<K: Hash + Eq + Ord + Clone> Heavy<K> {
    /// Keeps this many keys, and while a batch is collected twice as many.
    pub fn new(entries: usize) -> Self {
        Heavy { counts: HashMap::new(), entries: entries.max(1), error: 0, total: 0 }
    }

    /// Adds weight to a key.
    pub fn add(&mut self, key: &K, weight: u64) {
        self.total = self.total.saturating_add(weight);
        match self.counts.get_mut(key) {
            Some(count) => *count = count.saturating_add(weight),
            None => {
                self.counts.insert(key.clone(), weight);
            }
        }
        if self.counts.len() > 2 * self.entries {
            self.prune();
        }
    }

    fn prune(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let at = counts.len() - 1 - self.entries;
        let (_, cut, _) = counts.select_nth_unstable(at);
        let cut = *cut;
        self.counts.retain(|_, count| {
            *count = count.saturating_sub(cut);
            *count > 0
        });
        self.error = self.error.saturating_add(cut);
    }

    /// The keys with at least these counts, heaviest first. A key's true weight is its count or up to
    /// [`Self::error`] more.
    pub fn heaviest(&self) -> Vec<(K, u64)> {
        let mut all: Vec<_> = self.counts.iter().map(|(key, count)| (key.clone(), *count)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }

    /// What a count may be too low by, at most.
    pub fn error(&self) -> u64 {
        self.error
    }

    /// All weight that was added.
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn true_weights_lie_within_the_bounds(
            stream in prop::collection::vec((0u32..60, 0u64..100), 0..800),
            entries in 1usize..20,
        ) {
            let (mut heavy, mut truth) = (Heavy::new(entries), HashMap::new());
            for (key, weight) in &stream {
                heavy.add(key, *weight);
                *truth.entry(*key).or_insert(0) += *weight;
            }
            let total: u64 = stream.iter().map(|(_, weight)| weight).sum();
            prop_assert_eq!(heavy.total(), total);
            prop_assert!(heavy.error() <= total / (entries as u64 + 1));
            let found: HashMap<_, _> = heavy.heaviest().into_iter().collect();
            prop_assert!(found.len() <= 2 * entries);
            for (key, weight) in truth {
                let count = found.get(&key).copied().unwrap_or(0);
                prop_assert!(count <= weight && weight <= count + heavy.error());
            }
        }
    }
}
