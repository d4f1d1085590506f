//! Whether a block is recorded: every one in full mode, else those that a sample hits.

use core::sync::atomic::Ordering;

use heapscribe_wire::head::{LossReason, SharedHead};
use heapscribe_wire::ids::RateId;
use heapscribe_wire::mode::Mode;
use heapscribe_wire::sampler::Sampler;

use super::filter;
use super::gate::NEVER;
use crate::definitions::Rate;
use crate::program;
use crate::state::words::Words;
use crate::state::{Session, Thread};

/// Whether everything is recorded.
#[inline(always)]
pub(crate) fn is_full(head: &SharedHead) -> bool {
    head.mode.load(Ordering::Relaxed) == Mode::Full.to_word()
}

/// Whether every block of the thread is recorded, and it knows so.
#[inline(always)]
pub(crate) fn is_recorded_in_full(thread: &Thread, head: &SharedHead) -> bool {
    is_full(head) && thread.sampling.followed.get() == Mode::Full.to_word()
}

/// Whether a block of this size is to be recorded, and at which rate. Counts its bytes.
#[inline(always)]
pub(crate) fn admit(size: usize, thread: &Thread, words: &Words, session: &Session) -> Option<RateId> {
    let mode = session.head.mode.load(Ordering::Relaxed);
    if mode == Mode::Full.to_word() && thread.sampling.followed.get() == mode {
        return Some(RateId::FULL);
    }
    admit_sample(size, mode, thread, words, session)
}

#[inline(never)]
fn admit_sample(size: usize, mode: u64, thread: &Thread, words: &Words, session: &Session) -> Option<RateId> {
    let sampling = &thread.sampling;
    if sampling.followed.get() != mode {
        follow(mode, thread, words, session);
    }
    if mode == Mode::Full.to_word() {
        return Some(RateId::FULL);
    }
    let (gap, count) = (words.gap.get(), (size as u64).saturating_add(1));
    if gap >= count {
        words.gap.set(gap - count);
        return None;
    }
    if sampling.mean_bytes.get() == 0 {
        words.gap.set(NEVER);
        return None;
    }
    let gap = next_gap(thread, session);
    words.gap.set(gap);
    words.first_gap.set(gap);
    Some(sampling.rate.get())
}

/// [`admit`] for a block that lies inside one of the heap: the block of the heap that was the thread's newest is so
/// still.
pub(crate) fn admit_apart(size: usize, thread: &Thread, words: &Words, session: &Session) -> Option<RateId> {
    let others = has_allocated_others(words);
    let rate = admit(size, thread, words, session);
    // Gaps only get smaller, and pools take the same of both: one more stays another.
    words.first_gap.set(words.gap.get().wrapping_add(u64::from(others)));
    rate
}

/// Whether the thread has allocated blocks of the heap since its last sample of one.
pub(crate) fn has_allocated_others(words: &Words) -> bool {
    words.gap.get() != words.first_gap.get()
}

/// Takes up a mode that is new to the thread.
#[cold]
fn follow(mode: u64, thread: &Thread, words: &Words, session: &Session) {
    let sampling = &thread.sampling;
    session.clock.read_next(); // `ctl` has noted when it changed the mode
    let may_leave_early = program::heap().is_some_and(|heap| !heap.may_nest);
    match Mode::from_word(mode) {
        Mode::Full => {
            session.was_full.store(true, Ordering::Release);
            words.seen.set(!mode);
        }
        sampled_or_off => {
            if session.was_full.load(Ordering::Acquire) {
                filter::pass_all(); // blocks of then are not in it
            }
            let rate = match sampled_or_off {
                Mode::Sampled { mean_bytes } => rate_of(mean_bytes, session),
                _ => Rate::NONE,
            };
            sampling.rate.set(rate.id);
            sampling.mean_bytes.set(rate.mean_bytes);
            words.gap.set(if rate.mean_bytes == 0 { NEVER } else { next_gap(thread, session) });
            words.seen.set(if may_leave_early { mode } else { !mode });
        }
    }
    sampling.followed.set(mode);
}

/// The rate of this mean. A process that has too many stays with the last.
#[cold]
fn rate_of(mean_bytes: u64, session: &Session) -> Rate {
    session.rates.find_or_define(mean_bytes, &session.definitions, &session.lock).unwrap_or_else(|_| {
        session.head.count_loss(LossReason::RateTable);
        session.rates.last().unwrap_or(Rate::NONE)
    })
}

fn next_gap(thread: &Thread, session: &Session) -> u64 {
    let new = || {
        let stream = u64::from(thread.id.get().0);
        let unseeded = || session.ticks() ^ u64::from(session.pid) << 32;
        Sampler::new(if session.seed == 0 { unseeded() } else { session.seed }, stream)
    };
    let mut sampler = thread.sampling.sampler.take().unwrap_or_else(new);
    let gap = sampler.next_gap(thread.sampling.mean_bytes.get());
    thread.sampling.sampler.set(Some(sampler));
    gap
}
