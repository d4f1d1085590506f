//! Time on the session's clock, read without a system call.
#![allow(unsafe_code)]

use heapscribe_wire::head::{ClockKind, MONOTONIC_SHIFT, TSC_SHIFT};

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    // In libc itself since glibc 2.17 and always in musl; goes through the vDSO, does not allocate.
    safe fn clock_gettime(clock: i32, time: &mut Timespec) -> i32;
}

fn read(clock: i32) -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    clock_gettime(clock, &mut time);
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

/// CLOCK_MONOTONIC, ns.
pub(crate) fn monotonic_ns() -> u64 {
    read(1)
}

/// CLOCK_REALTIME, ns since 1970.
pub(crate) fn realtime_ns() -> u64 {
    read(0)
}

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

/// The shift of a clock's raw counter.
pub(crate) const fn shift(kind: ClockKind) -> u32 {
    match kind {
        ClockKind::Tsc => TSC_SHIFT,
        ClockKind::Monotonic => MONOTONIC_SHIFT,
    }
}
