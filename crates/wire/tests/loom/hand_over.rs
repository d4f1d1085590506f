//! Chunks go round between threads and a drainer that run at the same time: nothing is read before it is
//! committed, nothing twice, nothing is lost.

use loom::thread;

use crate::explore;
use crate::parties::{Drainer, EVENTS, Log, Manner, Read, Writer};

/// One thread and the drainer, round one chunk. The thread has sealed it once before they meet.
fn round(drains: usize, fills: usize, manner: Manner) {
    let log = Log::new(1);
    let mut writer = Writer::new(&log, 1);
    writer.fill(EVENTS);
    let thread = thread::spawn(move || {
        for _ in 0..fills {
            writer.fill(EVENTS);
        }
    });
    let mut drainer = Drainer::new(&log, manner);
    for _ in 0..drains {
        drainer.drain();
    }
    thread.join().unwrap();
    drainer.drain();
    drainer.end(Read::Dead, |_| true);
    assert_eq!(drainer.numbers(1), (1..=log.committed(1)).collect::<Vec<_>>());
}

/// Threads that contend for the free chunks, and the drainer.
fn contend(chunks: usize, fills: usize) {
    let log = Log::new(chunks);
    let threads = [1, 2].map(|number| {
        let mut writer = Writer::new(&log, number);
        thread::spawn(move || (0..fills).filter(|_| writer.fill(1)).count())
    });
    let mut drainer = Drainer::new(&log, Manner::Careful);
    drainer.drain();
    let filled: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(filled >= chunks, "a free chunk was taken by nobody");
    drainer.drain();
    drainer.end(Read::Dead, |_| true);
    for number in [1, 2] {
        assert_eq!(drainer.numbers(number), (1..=log.committed(number)).collect::<Vec<_>>());
    }
}

#[test]
fn a_chunk_goes_round() {
    explore("one thread, one chunk, three rounds", 3, || round(2, 2, Manner::Careful));
}

#[test]
fn threads_contend_for_one_chunk() {
    explore("two threads, one chunk", 3, || contend(1, 2));
}

#[test]
fn threads_contend_for_two_chunks() {
    explore("two threads, two chunks", 2, || contend(2, 1));
}

/// A copy of a header is of no one moment: it can say `sealed` and have the length, or the thread and
/// sequence, of before. These are to be read after `sealed` was, so the drainer has to look again.
#[test]
#[should_panic]
fn one_look_at_a_header_is_not_enough() {
    explore("one look", 3, || round(2, 2, Manner::OneLook));
}

/// Nor does it help to compare before the chunk is freed: its events have been taken by then.
#[test]
#[should_panic]
fn one_look_is_not_mended_by_a_comparison() {
    explore("one look, compares", 3, || round(2, 2, Manner::Compares));
}

#[test]
#[should_panic]
fn committed_must_be_zeroed_before_the_chunk_is_free() {
    explore("frees first", 3, || round(2, 2, Manner::FreesFirst));
}
