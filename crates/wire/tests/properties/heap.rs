//! The file in which a heap tells of itself.

use heapscribe_wire::heap::state::{STATE_BYTES, SharedState};
use heapscribe_wire::heap::{About, HEAP_FILE_BYTES, HeapCounts, MAGIC, STATE_OFFSET, Update};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::number;

fn update() -> impl Strategy<Value = Update> {
    (number(), any::<bool>(), vec(number(), 12)).prop_map(|(mono_ns, is_last, counts)| {
        let counts = HeapCounts::from_words(counts.try_into().unwrap());
        Update { mono_ns, is_last, counts }
    })
}

/// The bytes of a state as they lie in memory.
fn bytes_of(state: &SharedState) -> Vec<u8> {
    use std::sync::atomic::Ordering::Relaxed;
    let head = [&state.sequence, &state.passed_by].into_iter();
    let words = head.chain(&state.words).chain([&state.check]);
    words.flat_map(|word| word.load(Relaxed).to_le_bytes()).collect()
}

proptest! {
    #[test]
    fn an_update_is_read_back(updates in vec(update(), 1..4)) {
        let state = SharedState::default();
        for update in &updates {
            prop_assert!(state.publish(&update.to_words()));
            prop_assert_eq!(Update::parse(&bytes_of(&state)), Some(*update));
        }
    }

    #[test]
    fn a_file_is_read_back(
        (pid, parent_pid) in any::<(u32, u32)>(),
        (created_mono_ns, pid_namespace, pools_address) in (number(), number(), number()),
        is_passing in any::<bool>(),
        (name, configuration, exe) in (vec(any::<u8>(), 0..70), vec(any::<u8>(), 0..200), vec(any::<u8>(), 0..600)),
    ) {
        let about = About {
            pid, parent_pid, created_mono_ns, pid_namespace, is_passing, pools_address,
            name: &name, configuration: &configuration, exe: &exe,
        };
        let mut bytes = [0; HEAP_FILE_BYTES];
        about.put(&mut bytes);
        prop_assert!(About::parse(&bytes).is_err(), "the magic comes last");
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        let cut = About {
            name: &name[..name.len().min(64)],
            configuration: &configuration[..configuration.len().min(192)],
            exe: &exe[..exe.len().min(512)],
            ..about
        };
        prop_assert_eq!(About::parse(&bytes), Ok(cut));
        prop_assert_eq!(Update::parse(&bytes[STATE_OFFSET..]), Some(Update::default()));
    }

    /// A copy of which some bytes are of another moment is not taken for one.
    #[test]
    fn a_torn_copy_is_none(old in update(), new in update(), split in 1..14usize) {
        let state = SharedState::default();
        state.publish(&old.to_words());
        let before = bytes_of(&state);
        state.publish(&new.to_words());
        let after = bytes_of(&state);
        let at = 16 + 8 * split;
        let torn = [&after[..at], &before[at..]].concat();
        let read = Update::parse(&torn);
        prop_assert!(read.is_none() || read == Some(old) || read == Some(new), "{:?}", read);
    }

    #[test]
    fn any_bytes_are_an_answer(bytes in vec(any::<u8>(), 0..HEAP_FILE_BYTES + 8), has_magic in any::<bool>()) {
        let mut bytes = bytes;
        if has_magic && bytes.len() >= 12 {
            bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
            bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
        }
        if let Err(bad) = About::parse(&bytes) {
            prop_assert!(bad.offset <= bytes.len());
        }
        prop_assert!(Update::parse(&bytes).is_none() || bytes.len() >= STATE_BYTES);
    }
}

/// A writer that never comes back does not end the updates.
#[test]
fn an_abandoned_update_is_written_over() {
    use std::sync::atomic::Ordering::Relaxed;
    let (state, update) = (SharedState::default(), Update { mono_ns: 7, ..Update::default() });
    state.sequence.store(1, Relaxed);
    let tries = (0..).find(|_| state.publish(&update.to_words())).unwrap();
    assert_eq!(tries, heapscribe_wire::heap::state::PASSED_BY_MAX);
    assert_eq!(Update::parse(&bytes_of(&state)), Some(update));
    assert!(state.publish(&update.to_words()), "and those after it as ever");
}

#[test]
fn fragmentation_is_what_one_request_can_not_have() {
    for (free, largest, expected) in
        [(0, 0, 0), (100, 100, 0), (100, 25, 750), (u64::MAX, 0, 1000), (10, 20, 0)]
    {
        let counts = HeapCounts { free_bytes: free, largest_free_bytes: largest, ..HeapCounts::default() };
        assert_eq!(counts.fragmentation_per_mille(), expected, "{free} {largest}");
    }
}
