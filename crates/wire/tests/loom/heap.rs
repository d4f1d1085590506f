//! The counts of a heap, written by several threads and copied in any order by a reader: what it takes for an
//! update is one that somebody wrote.

use loom::sync::Arc;
use loom::thread;

use crate::explore;
use crate::state::{SharedState, WORDS, check_of};
use crate::sync::Ordering;

/// An update of words that are all the same.
fn words(value: u64) -> [u64; WORDS] {
    [value; WORDS]
}

/// Copies first, last and check, and a word between, which is enough to see two updates in one.
fn copy(state: &SharedState) -> Option<[u64; 2]> {
    let check = state.check.load(Ordering::Relaxed);
    let copied = [state.words[0].load(Ordering::Relaxed), state.words[WORDS - 1].load(Ordering::Relaxed)];
    let mut whole = words(copied[0]);
    whole[WORDS - 1] = copied[1];
    (check == check_of(&whole)).then_some(copied)
}

#[test]
fn what_is_taken_for_an_update_is_one() {
    explore("two writers of counts and a reader", 2, || {
        let state = Arc::new(SharedState::default());
        let other = Arc::clone(&state);
        let writer = thread::spawn(move || other.publish(&words(1)));
        let copied = copy(&state);
        assert!(copied.is_none_or(|copied| copied == [1, 1]), "{copied:?}");
        let ours = state.publish(&words(2));
        let theirs = writer.join().unwrap();
        assert!(ours || theirs, "each has left it to the other");
        let last = copy(&state);
        assert!(last == Some([1, 1]) || last == Some([2, 2]), "{last:?}");
        assert_eq!(state.sequence.load(Ordering::Relaxed) & 1, 0);
    });
}
