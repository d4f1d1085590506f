//! A reader copies the live table while threads change it: what it copies again, with operations held back, is what they
//! have marked since it asked. The table here is a unit of two slots that each operation changes together.

use loom::sync::Arc;
use loom::sync::atomic::fence;
use loom::thread;

use heapscribe_wire::live::{CHANGED, UNCHANGED};

use crate::explore;
use crate::operation::{ThreadRecord, break_hold};
use crate::sync::{AtomicU32, Ordering};

#[derive(Default)]
struct Shared {
    hold: AtomicU32,
    mark: AtomicU32,
    slots: [AtomicU32; 2],
    record: ThreadRecord,
}

/// What a reader does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Careful,
    /// Asks while threads run.
    Hasty,
    /// Does not look whether the hold in which it asked was still its own.
    Trusting,
}

const OWN: u32 = 7;

fn operate(shared: &Shared, value: u32) -> bool {
    if !shared.record.begin(&shared.hold) {
        return false;
    }
    if shared.mark.load(Ordering::Relaxed) != u32::from(CHANGED) {
        shared.mark.store(CHANGED.into(), Ordering::Relaxed);
    }
    shared.slots.iter().for_each(|slot| slot.store(value, Ordering::Relaxed));
    shared.record.end();
    true
}

/// Does something with operations held back; `None` when they were not, all the time.
fn held<T>(shared: &Shared, does: impl FnOnce() -> T) -> Option<(T, bool)> {
    shared.hold.store(OWN, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    if shared.record.in_operation.load(Ordering::Acquire) != 0 {
        shared.hold.store(0, Ordering::Release);
        return None; // the real reader looks again
    }
    fence(Ordering::SeqCst);
    let done = does();
    fence(Ordering::SeqCst);
    let is_own = shared.hold.compare_exchange(OWN, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    Some((done, is_own))
}

fn slots(shared: &Shared) -> [u32; 2] {
    shared.slots.each_ref().map(|slot| slot.load(Ordering::Acquire))
}

/// What the reader has, and what the table was then.
fn copy(shared: &Shared, manner: Manner) -> Option<[[u32; 2]; 2]> {
    let ask = || shared.mark.store(UNCHANGED.into(), Ordering::Relaxed);
    if manner == Manner::Hasty {
        ask();
    } else {
        held(shared, ask).filter(|(_, is_own)| *is_own || manner == Manner::Trusting)?;
    }
    let first = slots(shared);
    let again = || {
        let now = slots(shared);
        let is_changed = shared.mark.load(Ordering::Relaxed) == u32::from(CHANGED);
        [if is_changed { now } else { first }, now]
    };
    held(shared, again).filter(|(_, is_own)| *is_own).map(|(both, _)| both)
}

/// A thread operates twice, the second time after having waited too long, when `breaks`; the reader copies.
fn round(manner: Manner, breaks: bool) {
    let shared = Arc::new(Shared::default());
    shared.mark.store(CHANGED.into(), Ordering::Relaxed);
    let theirs = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        for value in [1, 2] {
            if !operate(&theirs, value) && breaks {
                break_hold(&theirs.hold, OWN);
                operate(&theirs, value);
            }
        }
    });
    if let Some([copied, truth]) = copy(&shared, manner) {
        assert_eq!(copied, truth, "a change was not marked");
    }
    thread.join().unwrap();
}

#[test]
fn what_is_copied_while_threads_run_is_the_table_of_one_instant() {
    explore("copied while it changes", 3, || round(Manner::Careful, false));
}

#[test]
fn a_hold_that_lasted_too_long_is_known() {
    explore("asked for too long", 3, || round(Manner::Careful, true));
}

#[test]
#[should_panic]
fn it_is_to_be_asked_while_nobody_operates() {
    explore("hasty", 3, || round(Manner::Hasty, false));
}

#[test]
#[should_panic]
fn a_hold_that_was_taken_away_must_be_noticed() {
    explore("trusting", 3, || round(Manner::Trusting, true));
}
