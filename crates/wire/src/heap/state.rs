//! The part of a heap's file that changes: written by whichever thread of the program has its turn, copied by
//! a reader that nobody waits for.
//!
//! ```text
//!   0  sequence  u64, odd while somebody writes        8  passed by  u64, writers that passed meanwhile
//!  16  words: time of the update, whether it is the last, 12 counts
//! 128  check     u64, of the words
//! ```
//! A writer that finds another at it goes on without writing. One may be gone for ever - a signal handler that
//! interrupted it jumped away, its thread was killed - so who has been passed by [`PASSED_BY_MAX`] times is
//! taken for gone, and another writes. It may come back all the same: then two write at once, and the words
//! may be of both. So the copy is not believed for its sequence alone: its words must be those that its check
//! was made of. The next update makes it whole.
#![allow(unexpected_cfgs, reason = "`loom` is given by hand, for models only")]

use crate::sync::{AtomicU64, Ordering};

/// Words of an update: time, whether it is the last, counts.
pub const WORDS: usize = 14;
/// Bytes of the part.
pub const STATE_BYTES: usize = 136;
/// How often a writer is passed by before it is taken for gone.
pub const PASSED_BY_MAX: u64 = 1000;

/// What is mapped by the program.
#[repr(C)]
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the table above says what each field is")]
pub struct SharedState {
    pub sequence: AtomicU64,
    pub passed_by: AtomicU64,
    pub words: [AtomicU64; WORDS],
    pub check: AtomicU64,
}

const _: () = assert!(crate::sync::IS_MODEL || size_of::<SharedState>() == STATE_BYTES);

impl SharedState {
    /// Writes an update; false when somebody else is at it.
    pub fn publish(&self, words: &[u64; WORDS]) -> bool {
        let before = self.sequence.load(Ordering::Relaxed);
        // One that was abandoned odd goes from odd to odd.
        let writing = if before & 1 == 0 { before.wrapping_add(1) } else { before.wrapping_add(2) };
        if before & 1 == 1 && self.passed_by.fetch_add(1, Ordering::Relaxed) < PASSED_BY_MAX {
            return false;
        }
        if self.sequence.compare_exchange(before, writing, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        self.passed_by.store(0, Ordering::Relaxed);
        for (place, &word) in self.words.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        self.check.store(check_of(words), Ordering::Relaxed);
        self.sequence.store(writing.wrapping_add(1), Ordering::Release);
        true
    }
}

/// A number that other words hardly have: each is mixed in so that its place counts.
pub fn check_of(words: &[u64; WORDS]) -> u64 {
    let mix = |hash: u64, &word: &u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    words.iter().fold(0x6865_6170_7363_7269, mix)
}

/// An update out of copied bytes; `None` when they are of two, of none, or cut: to be copied again.
pub fn parse(bytes: &[u8]) -> Option<[u64; WORDS]> {
    let word = |n: usize| Some(u64::from_le_bytes(bytes.get(8 * n..8 * n + 8)?.try_into().ok()?));
    let mut words = [0; WORDS];
    for (n, place) in words.iter_mut().enumerate() {
        *place = word(2 + n)?;
    }
    let is_whole = word(0)? & 1 == 0 && word(2 + WORDS)? == check_of(&words);
    is_whole.then_some(words)
}
