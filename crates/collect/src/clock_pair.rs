//! A moment on both clocks of a process: its own ticks, and the monotonic clock of the system.

/// A moment on both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClockPair {
    /// Ticks of the process's clock.
    pub(crate) ticks: u64,
    /// CLOCK_MONOTONIC ns; 0 when it is not known.
    pub(crate) mono_ns: u64,
}
