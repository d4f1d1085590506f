//! A reader holds operations on the live table back: what it copies is the table between two operations.
//! In the table here each thread has two slots that its operations change together; a copy with one of
//! them changed is of no instant. The reader's barrier on all processors is a fence in each thread and one of its own.

use loom::sync::Arc;
use loom::sync::atomic::fence;
use loom::thread;

use crate::explore;
use crate::operation::{ThreadRecord, break_hold};
use crate::sync::{AtomicU32, Ordering};

#[derive(Default)]
struct Shared {
    hold: AtomicU32,
    slots: [[AtomicU32; 2]; 2],
    records: [ThreadRecord; 2],
}

/// What a reader does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Careful,
    /// Does not wait until those have ended that had begun.
    Impatient,
    /// Does not look whether the hold was still its own.
    Trusting,
}

const OWN: u32 = 7;

fn operate(shared: &Shared, number: usize, value: u32) -> bool {
    let record = &shared.records[number];
    if !record.begin(&shared.hold) {
        return false;
    }
    shared.slots[number].iter().for_each(|slot| slot.store(value, Ordering::Relaxed));
    record.end();
    true
}

/// The slots as of one instant; `None` when that can not be said.
fn copy(shared: &Shared, manner: Manner) -> Option<[[u32; 2]; 2]> {
    shared.hold.store(OWN, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    let busy = shared.records.iter().any(|record| record.in_operation.load(Ordering::Acquire) != 0);
    if busy && manner != Manner::Impatient {
        shared.hold.store(0, Ordering::Release);
        return None; // the real reader looks again
    }
    fence(Ordering::SeqCst);
    let slots = [0, 1].map(|n| [0, 1].map(|i| shared.slots[n][i].load(Ordering::Acquire)));
    fence(Ordering::SeqCst);
    let is_own = shared.hold.compare_exchange(OWN, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    (is_own || manner == Manner::Trusting).then_some(slots)
}

/// Two threads operate, one of them after having waited too long, when `breaks`; the reader copies.
fn round(manner: Manner, breaks: bool) {
    let shared = Arc::new(Shared::default());
    let theirs = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        if !operate(&theirs, 0, 1) && breaks {
            break_hold(&theirs.hold, OWN);
            operate(&theirs, 0, 1);
        }
    });
    let others = Arc::clone(&shared);
    let other = thread::spawn(move || operate(&others, 1, 2));
    for [a, b] in copy(&shared, manner).into_iter().flatten() {
        assert_eq!(a, b, "half an operation was seen");
    }
    thread.join().unwrap();
    other.join().unwrap();
}

#[test]
fn a_copy_is_of_one_instant() {
    explore("held back, copied", 3, || round(Manner::Careful, false));
}

#[test]
fn a_hold_that_lasted_too_long_is_known() {
    explore("held back for too long", 3, || round(Manner::Careful, true));
}

#[test]
#[should_panic]
fn those_that_have_begun_must_be_waited_for() {
    explore("impatient", 3, || round(Manner::Impatient, false));
}

#[test]
#[should_panic]
fn a_hold_that_was_taken_away_must_be_noticed() {
    explore("trusting", 3, || round(Manner::Trusting, true));
}
