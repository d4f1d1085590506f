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

/// The time stamp counter and CLOCK_MONOTONIC of one moment, ns, under the same conditions: of some readings those that no
/// interrupt came between.
pub fn counter_and_ns() -> Option<(u64, u64)> {
    const READINGS: usize = 8;
    time_stamp_counter()?;
    let reading = |_| {
        let (before_ns, counter, after_ns) = (monotonic_ns(), counter()?, monotonic_ns());
        Some((after_ns - before_ns, (counter, before_ns.midpoint(after_ns))))
    };
    (0..READINGS).filter_map(reading).min().map(|(_, pair)| pair)
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
