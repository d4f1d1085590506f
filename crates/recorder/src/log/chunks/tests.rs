//! A log that nobody drains, full: how often its threads sleep, and what they find.

use super::*;
use crate::tests::{file, head};

/// A process that there is not.
const NOBODY: u32 = 0x7fff_fff0;

/// A log that has room for so many chunks.
fn log(chunks: usize, planned: u32, drainer_pid: u32) -> Log {
    let pid_namespace = sys::pid_namespace();
    let plan = Plan { log_chunks: planned, drainer_pid, pid_namespace, ..Plan::default() };
    let steps: Vec<_> = (0..CHUNKS_MAX).map(|_| AtomicU8::new(0)).collect();
    Log::new(file(payload_offset(chunks)), plan, steps.leak().first_chunk().unwrap())
}

/// Opens and seals chunks until there is none; how many there were, and why no more.
fn fill(log: &Log, head: &SharedHead, lock: &Lock) -> (usize, LossReason) {
    let mut filled = 0;
    loop {
        match log.open(head, lock, |chunk| chunk) {
            Ok(chunk) => chunk.header.seal(1, 1),
            Err(reason) => return (filled, reason),
        }
        filled += 1;
    }
}

/// A search that finds nothing; whether it slept.
fn sleeps_in_search(log: &Log, head: &SharedHead, lock: &Lock) -> bool {
    let before = log.budget.naps();
    let opened = log.open(head, lock, |chunk| chunk);
    assert_eq!(opened.err(), Some(LossReason::LogFull));
    log.budget.naps() > before
}

#[test]
fn a_log_with_hardly_any_chunks_waits_within_its_budget() {
    for (chunks, planned) in [(1, 64), (7, 64), (2, 17)] {
        let (log, head, lock) = (log(chunks, planned, std::process::id()), head(), Lock::default());
        assert_eq!(fill(&log, head, &lock), (chunks, LossReason::LogFull));
        assert!(log.budget.is_spent(), "{chunks} of {planned}");
        assert!((0..100).all(|_| !sleeps_in_search(&log, head, &lock)), "{chunks} of {planned}");
        assert_eq!(log.drainer.load(Ordering::Relaxed), LISTENS, "it may take chunks later");
        // It does, and the chunk is found without waiting.
        log.chunks.header(chunks - 1).release();
        assert_eq!(log.open(head, &lock, |chunk| chunk).map(|chunk| chunk.index), Ok(chunks - 1));
    }
}

#[test]
fn a_log_with_enough_chunks_waits_for_as_long_as_there_is_a_drainer() {
    for (chunks, planned) in [(8, 64), (2, 16), (1, 2)] {
        let (log, head, lock) = (log(chunks, planned, NOBODY), head(), Lock::default());
        assert_eq!(fill(&log, head, &lock), (chunks, LossReason::LogFull));
        assert_eq!((log.budget.naps(), log.drainer.load(Ordering::Relaxed)), (0, ENDED));
    }
}

/// Its last wait is shorter than the silence after which the drainer is looked for. Spent from the start: a nap of a loaded
/// machine may be so long that the wait itself looks.
#[test]
fn a_log_that_waits_no_more_finds_that_its_drainer_has_ended() {
    let (log, head, lock) = (log(1, 64, NOBODY), head(), Lock::default());
    while let Ok(Some(chunk)) = log.try_open(head, &lock, &mut |chunk| chunk) {
        chunk.header.seal(1, 1);
    }
    log.budget.spend(u64::MAX);
    for (heard_ns, expected) in [(u64::MAX, LISTENS), (0, ENDED)] {
        log.heard_ns.store(heard_ns, Ordering::Relaxed);
        assert!(!sleeps_in_search(&log, head, &lock));
        assert_eq!(log.drainer.load(Ordering::Relaxed), expected, "heard at {heard_ns} ns");
    }
}

/// A thread that waits, and would itself find after a while that the drainer has ended.
#[test]
fn the_first_thread_that_gives_up_does_so_for_all() {
    let (log, head, lock) = (log(8, 64, NOBODY), head(), Lock::default());
    while let Ok(Some(chunk)) = log.try_open(head, &lock, &mut |chunk| chunk) {
        chunk.header.seal(1, 1);
    }
    log.drainer.store(SILENT, Ordering::Relaxed);
    assert!(matches!(log.wait(head, &lock, &mut |chunk| chunk), Ok(None)));
    assert_eq!(log.drainer.load(Ordering::Relaxed), SILENT);
}

/// Without waiting, or after its waits have come to nothing. One that only stands still may go on.
#[test]
fn a_log_that_drops_finds_that_its_drainer_has_ended() {
    let own = std::process::id();
    for (when_full, drainer, drainer_pid, expected) in [
        (WhenFull::Drop, LISTENS, NOBODY, ENDED),
        (WhenFull::Drop, LISTENS, own, LISTENS),
        (WhenFull::Wait, SILENT, NOBODY, ENDED),
        (WhenFull::Wait, SILENT, own, SILENT),
    ] {
        let (mut log, head, lock) = (log(8, 64, drainer_pid), head(), Lock::default());
        log.plan.when_full = when_full;
        log.drainer.store(drainer, Ordering::Relaxed);
        for (heard_ns, expected) in [(u64::MAX, drainer), (0, expected)] {
            log.heard_ns.store(heard_ns, Ordering::Relaxed);
            assert_eq!(fill(&log, head, &lock).1, LossReason::LogFull);
            let found = log.drainer.load(Ordering::Relaxed);
            assert_eq!(found, expected, "{when_full:?}, heard at {heard_ns} ns");
        }
    }
}
