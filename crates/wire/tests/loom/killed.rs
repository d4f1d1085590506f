//! SIGKILL at each step of a thread: who reads afterwards gets what was committed, all of it and nothing
//! else, whatever the chunk held before.
//!
//! Between any two stores the final reader may run. It reads what was stored last, as memory is after
//! the thread's death; that the thread goes on while it reads only adds orders. What had been committed
//! when it began is the least it must get.

use loom::thread;

use crate::explore;
use crate::parties::{Drainer, EVENTS, Log, Manner, Read, Writer};

/// A thread fills its chunk `before` times, then goes on with `fills` while it is drained `drains` times
/// and looked at for the last time.
fn killed(before: usize, drains: usize, fills: &'static [usize], manner: Manner) {
    let (got, least, most) = looked_at(before, drains, fills, manner, Read::Dead);
    assert_eq!(got, (1..=got.len() as u32).collect::<Vec<_>>(), "not the beginning of what was written");
    assert!((least..=most).contains(&(got.len() as u32)), "{got:?} of {least} to {most}");
}

/// What was got, and the least and the most that was committed meanwhile.
fn looked_at(
    before: usize,
    drains: usize,
    fills: &'static [usize],
    manner: Manner,
    read: Read,
) -> (Vec<u32>, u32, u32) {
    let log = Log::new(1);
    let mut writer = Writer::new(&log, 1);
    for _ in 0..before {
        writer.fill(EVENTS);
    }
    let thread = thread::spawn(move || {
        for &events in fills {
            writer.fill(events);
        }
    });
    let mut drainer = Drainer::new(&log, manner);
    for _ in 0..drains {
        drainer.drain();
    }
    let least = log.committed(1);
    drainer.end(read, |_| true);
    let most = log.committed(1);
    thread.join().unwrap();
    (drainer.numbers(1), least, most)
}

#[test]
fn in_its_first_chunk() {
    explore("killed in its first chunk", 4, || killed(0, 0, &[EVENTS], Manner::Careful));
}

#[test]
fn in_a_chunk_that_was_used_before() {
    explore("killed in its second use of a chunk", 4, || killed(1, 1, &[1], Manner::Careful));
}

#[test]
fn in_the_third_use_of_a_chunk() {
    explore("killed in its third use of a chunk", 3, || killed(1, 2, &[1, EVENTS], Manner::Careful));
}

/// The thread goes on and stores become visible in any order that is allowed: less may be got than was
/// committed, but it is the beginning.
#[test]
fn what_is_got_from_an_open_chunk_of_a_running_thread_is_whole() {
    explore("open chunk of a running thread", 4, || {
        let (got, _, most) = looked_at(1, 1, &[EVENTS], Manner::Careful, Read::Running);
        assert_eq!(got, (1..=got.len() as u32).collect::<Vec<_>>());
        assert!(got.len() as u32 <= most);
    });
}

#[test]
#[should_panic]
fn committed_must_be_zeroed_at_all() {
    explore("forgets to zero", 4, || killed(1, 1, &[1], Manner::ForgetsToZero));
}
