//! The clock of a session, which each event has its time by.
//!
//! Reading it is the dearest part of an event whose stack is known: 10 to 13 ns of some 40 under a hypervisor. By `record
//! --clock coarse` a thread reads it only when the kernel has counted a step of time since its last reading (1 to 10 ms;
//! CLOCK_MONOTONIC_COARSE takes 3 ns), and else puts each event a tick after the one before it. So an event is never later
//! than it was, and at most a step earlier, and the order of a thread's events is what it was.
//!
//! The order of events of two threads or processes would not be. So this holds only as long as there is one of each:
//!
//! ```text
//!   a second thread             ends it before its first event
//!   another process             says so before its first event, see `sole_process`
//!   a moment that others know   is read, and the event after it, too: a chunk's, a snapshot's, a mode's
//! ```
//! What a thread does after it has heard of another's event it does after it can see that it is not alone; what another
//! does after it has heard of this one's event is later than that event's time. Either way the order is true.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use heapscribe_wire::head::{ClockKind, SharedHead};

use super::clock;
use super::sole_process::SoleProcess;

/// How the next event gets its time.
mod next {
    /// From the time stamp counter.
    pub(super) const TSC: u8 = 0;
    /// From CLOCK_MONOTONIC.
    pub(super) const MONOTONIC: u8 = 1;
    /// From neither, within a step of the kernel's.
    pub(super) const COARSE: u8 = 2;
}

/// The clock of a session.
#[derive(Debug)]
pub(crate) struct SessionClock {
    next: AtomicU8,
    /// Which clock ticks are on.
    pub(crate) kind: ClockKind,
    /// There where the clock is read seldom.
    sole: Option<SoleProcess>,
    /// CLOCK_MONOTONIC_COARSE at the last reading, ns; 0 when the next event is to read the clock.
    step_ns: AtomicU64,
}

impl SessionClock {
    /// Of this kind, read seldom with `sole` where the kernel's steps can be read without a system call.
    pub(crate) fn new(kind: ClockKind, sole: Option<SoleProcess>) -> SessionClock {
        let sole = sole.filter(|_| clock::coarse_ns().is_some());
        let is_coarse = sole.as_ref().is_some_and(SoleProcess::is_alone);
        let next = if is_coarse { next::COARSE } else { read_each_time(kind) };
        SessionClock { next: AtomicU8::new(next), kind, sole, step_ns: AtomicU64::new(0) }
    }

    /// By how much times may be early, ns; 0 where each event reads the clock.
    pub(crate) fn early_ns(&self) -> u64 {
        if self.is_coarse() { clock::coarse_step_ns() } else { 0 }
    }

    /// The time now. The event after it is later.
    #[inline(always)]
    pub(crate) fn ticks(&self) -> u64 {
        self.read_next();
        clock::ticks(self.kind)
    }

    /// The next event is to read the clock: another process knows of a moment before it.
    #[inline(always)]
    pub(crate) fn read_next(&self) {
        if self.is_coarse() {
            self.step_ns.store(0, Ordering::Relaxed);
        }
    }

    /// The time of an event that happens now, on a thread whose event before was at `before`: a later one.
    #[inline(always)]
    pub(crate) fn event_ticks(&self, before: u64, head: &SharedHead) -> u64 {
        if self.next.load(Ordering::Relaxed) == next::TSC {
            clock::ticks(ClockKind::Tsc).max(before + 1)
        } else {
            self.other_ticks(before, head)
        }
    }

    /// The same where the clock is another, or read seldom.
    #[inline(never)]
    fn other_ticks(&self, before: u64, head: &SharedHead) -> u64 {
        if self.is_coarse() && !self.has_stepped(head) {
            return before + 1;
        }
        clock::ticks(self.kind).max(before + 1)
    }

    /// Whether the clock is to be read: the kernel has counted a step since the last reading, or what that is seldom for is
    /// no longer so.
    fn has_stepped(&self, head: &SharedHead) -> bool {
        if !self.sole.as_ref().is_some_and(SoleProcess::is_alone) {
            self.read_from_now_on(head);
            return true;
        }
        let Some(now_ns) = clock::coarse_ns() else { return true };
        let has_stepped = now_ns != self.step_ns.load(Ordering::Relaxed);
        if has_stepped {
            self.step_ns.store(now_ns, Ordering::Relaxed);
        }
        has_stepped
    }

    /// From now on each event reads the clock.
    pub(crate) fn read_from_now_on(&self, head: &SharedHead) {
        if self.is_coarse() {
            self.next.store(read_each_time(self.kind), Ordering::Release);
            let now = clock::ticks(self.kind);
            let _ = head.exact_from_ticks.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Calls `visit` for its mapping, if it has one: address and bytes.
    pub(crate) fn for_each_mapping(&self, visit: impl FnOnce(*mut u8, usize)) {
        if let Some((base, len)) = self.sole.as_ref().map(SoleProcess::mapping) {
            visit(base, len);
        }
    }

    #[inline(always)]
    fn is_coarse(&self) -> bool {
        self.next.load(Ordering::Relaxed) == next::COARSE
    }
}

fn read_each_time(kind: ClockKind) -> u8 {
    match kind {
        ClockKind::Tsc => next::TSC,
        ClockKind::Monotonic => next::MONOTONIC,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::sole_process::tests::alone;
    use crate::program;
    use crate::tests::head;

    const SHIFT: u32 = clock::shift(ClockKind::Monotonic);

    /// Of one process, with the word that others write; none where the kernel's steps cannot be read.
    fn coarse() -> Option<(SessionClock, &'static AtomicU64)> {
        clock::find(program::loader()?);
        let (sole, word) = alone();
        let clock = SessionClock::new(ClockKind::Monotonic, Some(sole));
        (clock.early_ns() > 0).then_some((clock, word))
    }

    #[test]
    fn events_are_a_tick_apart_until_the_kernel_counts_a_step() {
        let Some((clock, _)) = coarse() else { return };
        let (head, begin, mut before, mut read) = (head(), clock::ticks(ClockKind::Monotonic), 0, 0);
        for _ in 0..100_000 {
            let now = clock.event_ticks(before, head);
            read += u64::from(now != before + 1);
            before = now;
            let true_ticks = clock::ticks(ClockKind::Monotonic);
            // A step may be counted late, when the machine is busy.
            let early_ticks = (10 * clock.early_ns()) >> SHIFT;
            assert!((true_ticks - early_ticks..=true_ticks).contains(&now), "{now} at {true_ticks}");
        }
        let steps = ((clock::ticks(ClockKind::Monotonic) - begin) << SHIFT) / clock.early_ns();
        assert!((1..=steps + 2).contains(&read), "{read} readings in {steps} steps");
        assert_eq!(head.exact_from_ticks.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_event_is_later_than_a_moment_that_was_read() {
        let Some((clock, _)) = coarse() else { return };
        let (head, mut before) = (head(), 0);
        for _ in 0..1_000 {
            before = clock.event_ticks(before, head);
            let moment = clock.ticks();
            let after = clock.event_ticks(before, head);
            assert!(before <= moment && moment <= after, "{before} {moment} {after}");
            before = after;
        }
    }

    #[test]
    fn a_second_process_or_thread_ends_it_before_its_first_event() {
        let process: fn(&SessionClock, &AtomicU64, &SharedHead) =
            |_, word, _| word.store(7, Ordering::Relaxed);
        let thread: fn(&SessionClock, &AtomicU64, &SharedHead) =
            |clock, _, head| clock.read_from_now_on(head);
        for begins in [process, thread] {
            let Some((clock, word)) = coarse() else { return };
            let (head, first) = (head(), clock.event_ticks(0, head()));
            begins(&clock, word, head);
            let others = clock::ticks(ClockKind::Monotonic);
            assert!((first..=clock.event_ticks(first, head)).contains(&others));
            assert_ne!(head.exact_from_ticks.load(Ordering::Relaxed), 0);
            assert_eq!(clock.early_ns(), 0);
        }
    }
}
