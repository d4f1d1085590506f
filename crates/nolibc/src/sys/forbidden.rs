//! System calls that must not be made any more, because a filter of the program's would end it for them. Each fails
//! instead with EPERM, as under a filter that lets calls fail.

use core::sync::atomic::{AtomicU64, Ordering};

const WORDS: usize = 6;

/// A set of system calls by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallSet([u64; WORDS]);

impl CallSet {
    /// Numbers that it has room for: all that there are.
    pub const NUMBERS: usize = 64 * WORDS;

    /// All but those that end the process.
    pub const fn all() -> CallSet {
        CallSet([u64::MAX; WORDS])
    }

    /// Puts one in.
    pub fn insert(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    /// Whether one is in.
    pub fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}

static FORBIDDEN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// Makes no call of this set from now on. Gives those that were not made before.
pub fn forbid(set: CallSet) -> CallSet {
    let mut before = CallSet::default();
    for ((word, more), before) in FORBIDDEN.iter().zip(set.0).zip(&mut before.0) {
        *before = word.fetch_or(more, Ordering::Relaxed);
    }
    before
}

/// Makes those calls again that were made before a [`forbid`], whose filter was not installed.
pub fn permit(before: CallSet) {
    for (word, before) in FORBIDDEN.iter().zip(before.0) {
        word.store(before, Ordering::Relaxed);
    }
}

/// Whether a call must not be made.
pub(super) fn is_forbidden(number: usize) -> bool {
    FORBIDDEN.get(number / 64).is_some_and(|word| word.load(Ordering::Relaxed) >> (number % 64) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_or_not() {
        let mut set = CallSet::default();
        for number in [0, 63, 64, 300, 383, 384, usize::MAX] {
            set.insert(number);
        }
        let all: Vec<_> = (0..CallSet::NUMBERS).filter(|&number| set.contains(number)).collect();
        assert_eq!(all, [0, 63, 64, 300, 383]);
        assert!(!set.contains(384) && CallSet::all().contains(14));
    }
}
