//! Time is passed in: a logger in a simulation has another clock than one on a robot, and tests have their own.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A node's two clocks.
pub trait Clock {
    /// Nanoseconds that only go forward, from some beginning.
    fn monotonic_ns(&self) -> i64;

    /// Nanoseconds since 1970.
    fn realtime_ns(&self) -> i64;
}

/// The clocks of this machine, CLOCK_MONOTONIC and CLOCK_REALTIME.
#[derive(Clone, Copy, Default, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn monotonic_ns(&self) -> i64 {
        nanoseconds(clock_gettime(ClockId::Monotonic))
    }

    fn realtime_ns(&self) -> i64 {
        nanoseconds(clock_gettime(ClockId::Realtime))
    }
}

/// Good until the year 2262.
fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
