//! The clock that calls are timed by: the time stamp counter between fences where it runs evenly, else the
//! system's.
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

/// Shorter than this no rate is taken.
const RATE_OVER: Duration = Duration::from_millis(20);
/// At both clocks, at each end of that.
const LOOKS: usize = 16;
/// Empty calls that are timed to learn what timing costs.
const EMPTY_CALLS: usize = 1000;

/// A clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    is_counter: bool,
    ticks_per_ns: f64,
    /// What timing nothing takes, ticks.
    pub own_ticks: u64,
    start: Instant,
}

impl Clock {
    /// The best that there is. Takes 20 ms to learn its rate.
    pub fn new() -> Clock {
        let is_counter = has_even_counter();
        let mut clock = Clock { is_counter, ticks_per_ns: 1.0, own_ticks: 0, start: Instant::now() };
        if is_counter {
            let (begin, started) = both_clocks();
            std::thread::sleep(RATE_OVER);
            let (end, ended) = both_clocks();
            let elapsed = ended.duration_since(started);
            clock.ticks_per_ns = (end - begin) as f64 / elapsed.as_nanos().max(1) as f64;
        }
        clock.own_ticks = (0..EMPTY_CALLS).map(|_| clock.timed(|| ()).1).min().unwrap_or(0);
        clock
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        if self.is_counter { "tsc" } else { "monotonic" }
    }

    /// Ticks in nanoseconds.
    pub fn ns(&self, ticks: u64) -> u64 {
        (ticks as f64 / self.ticks_per_ns).round() as u64
    }

    /// Nanoseconds in ticks.
    pub fn ticks(&self, ns: u64) -> u64 {
        (ns as f64 * self.ticks_per_ns) as u64
    }

    /// How many ticks a call takes, with those that timing takes.
    #[inline(always)]
    pub fn timed<T>(&self, call: impl FnOnce() -> T) -> (T, u64) {
        if self.is_counter {
            let begin = counter();
            let value = call();
            return (value, counter().saturating_sub(begin));
        }
        let begin = self.start.elapsed();
        let value = call();
        (value, (self.start.elapsed() - begin).as_nanos() as u64)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new()
    }
}

/// The counter and the system's clock at one moment: of some looks the one with the least between them. A core
/// that goes to others between the two would make the rate wrong by as long as that lasts.
fn both_clocks() -> (u64, Instant) {
    let look = |_| {
        let (before, now, after) = (counter(), Instant::now(), counter());
        (after.saturating_sub(before), before, now)
    };
    let best = (0..LOOKS).map(look).min_by_key(|(between, ..)| *between);
    best.map_or_else(|| (counter(), Instant::now()), |(between, before, now)| (before + between / 2, now))
}

/// The kernel keeps its own time by this counter only where it runs evenly on all cores.
fn has_even_counter() -> bool {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let is_tsc = std::fs::read_to_string(source).is_ok_and(|name| name.trim() == "tsc");
    let flags = || std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    is_tsc
        || cfg!(target_arch = "x86_64") && flags().contains("constant_tsc") && flags().contains("nonstop_tsc")
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: every x86_64 has these; what stands before is done before the counter is read, and what
    // stands behind begins after it.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_millisecond_is_one() {
        let clock = Clock::new();
        let ((), ticks) = clock.timed(|| std::thread::sleep(Duration::from_millis(1)));
        assert!(clock.ns(ticks) >= 900_000, "{} ns by {}", clock.ns(ticks), clock.name());
        let back = clock.ns(clock.ticks(1_000_000));
        assert!((999_990..=1_000_010).contains(&back), "{back}");
    }
}
