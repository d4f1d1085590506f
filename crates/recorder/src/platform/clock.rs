//! Time on the session's clock.
#![allow(unsafe_code)]

pub(crate) use heapscribe_nolibc::clock::{coarse_ns, coarse_step_ns, find, monotonic_ns, realtime_ns};
use heapscribe_wire::head::{ClockKind, MONOTONIC_SHIFT, TSC_SHIFT};

/// The raw counter behind the ticks, shifted.
#[inline(always)]
pub(crate) fn ticks(kind: ClockKind) -> u64 {
    match kind {
        // SAFETY: every x86_64 has the instruction; the plan asks for it only where the kernel itself
        // keeps time by it, so it is enabled and constant.
        ClockKind::Tsc => unsafe { core::arch::x86_64::_rdtsc() >> TSC_SHIFT },
        ClockKind::Monotonic => monotonic_ns() >> MONOTONIC_SHIFT,
    }
}

/// How often a moment is read.
const READINGS: usize = 3;

/// A moment on both clocks, CLOCK_MONOTONIC ns and ticks: of some readings that with the least time between, as an interrupt
/// may come in the middle.
pub(crate) fn moment(kind: ClockKind) -> (u64, u64) {
    let reading = |_| {
        let (before_ns, ticks) = (monotonic_ns(), ticks(kind));
        let after_ns = monotonic_ns();
        (after_ns.saturating_sub(before_ns), (before_ns.midpoint(after_ns), ticks))
    };
    match kind {
        ClockKind::Monotonic => {
            let now_ns = monotonic_ns();
            (now_ns, now_ns >> MONOTONIC_SHIFT)
        }
        ClockKind::Tsc => (0..READINGS).map(reading).min().map_or((0, 0), |(_, moment)| moment),
    }
}

/// The raw counter itself, read when all before it is done.
#[inline(always)]
pub(crate) fn units(kind: ClockKind) -> u64 {
    match kind {
        // SAFETY: every x86_64 has the instruction, and the plan asks for it only where it is enabled; the fence is of SSE2, which every x86_64 has.
        ClockKind::Tsc => unsafe {
            core::arch::x86_64::_mm_lfence();
            core::arch::x86_64::_rdtsc()
        },
        ClockKind::Monotonic => monotonic_ns(),
    }
}

/// The shift of a clock's raw counter.
pub(crate) const fn shift(kind: ClockKind) -> u32 {
    match kind {
        ClockKind::Tsc => TSC_SHIFT,
        ClockKind::Monotonic => MONOTONIC_SHIFT,
    }
}
