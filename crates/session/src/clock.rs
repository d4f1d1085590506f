//! The clocks that recorded processes and their readers share.
#![allow(unsafe_code)]

use std::fs;

use heapscribe_wire::head::ClockKind;
use rustix::time::{ClockId, clock_gettime};

/// The clock that the kernel itself keeps time by, when it is one that programs can read.
pub fn clock_kind() -> ClockKind {
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    match source.as_deref().map(str::trim) {
        Ok("tsc") => ClockKind::Tsc,
        _ => ClockKind::Monotonic,
    }
}

/// CLOCK_MONOTONIC, ns.
pub fn monotonic_ns() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The time stamp counter, which is the same for all processes of the machine; none where it is not what the kernel
/// keeps time by, or where there is none.
pub fn time_stamp_counter() -> Option<u64> {
    (clock_kind() == ClockKind::Tsc).then(counter).flatten()
}

#[cfg(target_arch = "x86_64")]
fn counter() -> Option<u64> {
    // SAFETY: every x86_64 has the instruction, and the kernel keeps time by it: it is enabled and constant.
    Some(unsafe { std::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> Option<u64> {
    None
}
