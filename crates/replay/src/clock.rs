//! The clock that calls are timed by: the time stamp counter between fences where it runs evenly, else the
//! system's.
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

/// Over this the counter's rate is measured.
const RATE_OVER: Duration = Duration::from_millis(20);
/// Readings of both clocks at each end of that.
const READINGS: usize = 16;
/// Empty calls that are timed to learn what timing costs.
const EMPTY_CALLS: usize = 1000;

/// A clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    is_counter: bool,
    ticks_per_ns: f64,
    /// What timing an empty call takes, ticks.
    pub own_ticks: u64,
    start: Instant,
}

impl Clock {
    /// The best that there is. Takes 20 ms to learn its rate.
    pub fn new() -> Clock {
        let is_counter = has_even_counter();
        let mut clock = Clock { is_counter, ticks_per_ns: 1.0, own_ticks: 0, start: Instant::now() };
        if is_counter {
            let begin = Reading::take();
            std::thread::sleep(RATE_OVER);
            let end = Reading::take();
            let elapsed = end.instant.duration_since(begin.instant);
            clock.ticks_per_ns = (end.ticks - begin.ticks) as f64 / elapsed.as_nanos().max(1) as f64;
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

/// Both clocks at one moment.
struct Reading {
    ticks: u64,
    instant: Instant,
}

impl Reading {
    /// Of some readings the one that took least. A core that is taken away between the two would make the rate
    /// wrong by as long as that lasts.
    fn take() -> Reading {
        let read = |_| {
            let (before, instant, after) = (counter(), Instant::now(), counter());
            let took = after.saturating_sub(before);
            (took, Reading { ticks: before + took / 2, instant })
        };
        let best = (0..READINGS).map(read).min_by_key(|(took, _)| *took);
        best.map_or_else(|| Reading { ticks: counter(), instant: Instant::now() }, |(_, reading)| reading)
    }
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

    fn clock(ticks_per_ns: f64) -> Clock {
        Clock { is_counter: true, ticks_per_ns, own_ticks: 0, start: Instant::now() }
    }

    #[test]
    fn ticks_and_nanoseconds_are_converted_by_the_rate() {
        for (ticks_per_ns, ticks) in [(1.0, 1_000_000), (2.5, 2_500_000), (0.024, 24_000)] {
            let clock = clock(ticks_per_ns);
            assert_eq!((clock.ns(ticks), clock.ticks(1_000_000)), (1_000_000, ticks), "{ticks_per_ns}");
        }
    }

    #[test]
    fn the_rate_is_that_of_this_machine() {
        let clock = Clock::new();
        assert!(clock.ticks_per_ns.is_finite() && clock.ticks_per_ns > 0.0, "{clock:?}");
        assert!(clock.is_counter || clock.ticks_per_ns == 1.0, "{clock:?}");
    }

    #[test]
    fn both_clocks_go_forward() {
        let (first, second) = (Reading::take(), Reading::take());
        assert!(first.ticks <= second.ticks && first.instant <= second.instant);
    }

    #[test]
    fn a_timed_call_is_made_once() {
        for clock in [clock(1.0), Clock { is_counter: false, ..clock(1.0) }] {
            let mut calls = 0;
            let (value, _) = clock.timed(|| {
                calls += 1;
                7
            });
            assert_eq!((value, calls), (7, 1));
        }
    }
}
