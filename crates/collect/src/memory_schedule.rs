//! When the memory of the recorded processes is sampled: often at first, more rarely as a recording grows.

use std::time::{Duration, Instant};

/// Between two samples, at first; later less often, so that a long run has some ten thousand.
const FIRST_INTERVAL: Duration = Duration::from_millis(10);
const SAMPLES_WANTED: u32 = 10_000;
/// With many processes each is sampled less often.
const PER_PROCESS: Duration = Duration::from_millis(1);

/// When the next sample of all is due.
pub(crate) struct Schedule {
    start: Instant,
    last: Instant,
}

impl Schedule {
    pub(crate) fn new() -> Schedule {
        let start = Instant::now();
        Schedule { start, last: start }
    }

    /// Whether it is time; then the next waits for its turn.
    pub(crate) fn is_due(&mut self, processes: usize) -> bool {
        let now = Instant::now();
        let by_age = (now - self.start) / SAMPLES_WANTED;
        let interval = FIRST_INTERVAL.max(by_age).max(PER_PROCESS * processes as u32);
        let due = now - self.last >= interval;
        if due {
            self.last = now;
        }
        due
    }
}
