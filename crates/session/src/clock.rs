//! The clocks that recorded processes and their readers share.

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
