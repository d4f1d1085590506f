//! Keeping up with the programs: how far behind the drainer is, how hard it compresses, how long it may
//! wait until it looks again.
//!
//! A program whose log is full waits or drops events, so what matters is the room that is left in the
//! fullest log. Below three quarters of it there is time to compress; above, chunks are written as they
//! are, which takes a quarter less time. Between two passes the drainer waits as long as the fullest log takes to
//! fill to an eighth, by what came since the last one: programs that do little wake it seldom, and one
//! that fills its log in some milliseconds finds it awake. A log that has no room for its chunks may be full with one
//! of them, and its threads wait or lose events: where every chunk that there is is full it looks again at once.

use std::time::{Duration, Instant};

use heapscribe_formats::Drainer;
use heapscribe_wire::chunk::Header;

use heapscribe_session::monotonic_ns;

const SHORTEST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_millis(16);

/// How the drainer keeps up.
pub(super) struct Pace {
    level: i32,
    /// Chunks that a log has, besides those of its threads; [`usize::MAX`] of logs that were left behind, whose chunks
    /// waited for somebody to recover them.
    log_chunks: usize,
    last_pass: Instant,
    /// Full chunks of the fullest log in this pass, and their bytes in all logs.
    fullest: usize,
    waiting_bytes: u64,
    /// Whether in this pass there was a log of which every chunk was full.
    is_any_full: bool,
    wait: Duration,
    drainer: Drainer,
}

impl Pace {
    /// Compresses at `level` when there is time. When the processes of the logs have ended, the size does not matter.
    pub(super) fn new(level: i32, log_chunks: Option<u32>) -> Pace {
        let log_chunks = log_chunks.map_or(usize::MAX, |n| n as usize);
        let last_pass = Instant::now();
        let wait = SHORTEST_WAIT;
        let drainer = Drainer::default();
        Pace { level, log_chunks, last_pass, fullest: 0, waiting_bytes: 0, is_any_full: false, wait, drainer }
    }

    /// These chunks of a log are full, of so many: the level to write them at, 0 for as they are.
    pub(super) fn level_for(&mut self, full: &[(usize, Header)], in_use: usize) -> i32 {
        self.fullest = self.fullest.max(full.len());
        self.is_any_full |= full.len() >= in_use;
        if self.log_chunks == usize::MAX {
            return self.level;
        }
        self.waiting_bytes += full.iter().map(|(_, header)| u64::from(header.committed)).sum::<u64>();
        let ends = full.iter().map(|(_, header)| header.end_mono_ns).filter(|&ns| ns != 0);
        if let Some(oldest) = ends.min() {
            let waited = monotonic_ns().saturating_sub(oldest);
            self.drainer.waiting_ns = self.drainer.waiting_ns.max(waited);
        }
        if full.len() >= self.log_chunks {
            self.drainer.full_logs += 1;
        }
        if full.len() < self.log_chunks - self.log_chunks / 4 {
            return self.level;
        }
        self.drainer.hurried_chunks += full.len() as u64;
        0
    }

    /// A pass is over, in which there was something to do or nothing: how long to wait is known.
    pub(super) fn passed(&mut self, busy: bool) {
        self.drainer.waiting_bytes = self.drainer.waiting_bytes.max(self.waiting_bytes);
        let now = Instant::now();
        let since = now - self.last_pass;
        let eighth = (self.log_chunks / 8).clamp(1, 1 << 16) as u32;
        self.wait = match u32::try_from(self.fullest) {
            _ if self.is_any_full => SHORTEST_WAIT,
            Ok(fullest @ 1..) => (since * eighth / fullest).clamp(SHORTEST_WAIT, LONGEST_WAIT),
            _ if busy => SHORTEST_WAIT,
            _ => (self.wait * 2).min(LONGEST_WAIT),
        };
        (self.last_pass, self.fullest, self.waiting_bytes, self.is_any_full) = (now, 0, 0, false);
    }

    /// The same, but so long where nothing comes.
    pub(super) fn wait_or(&self, idle: Duration) -> Duration {
        if self.wait() < LONGEST_WAIT { self.wait() } else { idle.max(LONGEST_WAIT) }
    }

    /// How long to wait until the next pass.
    pub(super) fn wait(&self) -> Duration {
        self.wait
    }

    /// How the collector kept up so far.
    pub(super) fn statistics(&self) -> Drainer {
        Drainer { cpu_ns: cpu_ns(), peak_rss_bytes: peak_rss_bytes(), ..self.drainer }
    }
}

/// CPU time of this program so far.
fn cpu_ns() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    let t = clock_gettime(ClockId::ProcessCPUTime);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The most memory that this program had, by the kernel's count.
fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(n: usize) -> Vec<(usize, Header)> {
        (0..n).map(|i| (i, Header { committed: 1000, end_mono_ns: 1, ..Header::default() })).collect()
    }

    #[test]
    fn a_log_that_is_nearly_full_is_written_as_it_is() {
        let mut pace = Pace::new(3, Some(64));
        for (chunks, level) in [(0, 3), (1, 3), (47, 3), (48, 0), (64, 0)] {
            assert_eq!(pace.level_for(&full(chunks), 64), level, "{chunks}");
        }
        pace.passed(true);
        let statistics = pace.statistics();
        assert_eq!((statistics.full_logs, statistics.hurried_chunks), (1, 112));
        assert_eq!(statistics.waiting_bytes, 160_000);
        assert!(statistics.cpu_ns > 0 && statistics.peak_rss_bytes > 1 << 20, "{statistics:?}");
    }

    #[test]
    fn a_left_behind_log_is_compressed_however_full_it_is() {
        let mut pace = Pace::new(1, None);
        assert_eq!(pace.level_for(&full(500), 500), 1);
        pace.passed(true);
        let Drainer { waiting_bytes, waiting_ns, full_logs, .. } = pace.statistics();
        assert_eq!((waiting_bytes, waiting_ns, full_logs), (0, 0, 0), "nobody was to keep up with it");
    }

    #[test]
    fn the_wait_grows_while_nothing_comes_and_is_short_when_much_does() {
        let mut pace = Pace::new(1, Some(64));
        let waits: Vec<_> = (0..6)
            .map(|_| {
                pace.passed(false);
                pace.wait().as_millis()
            })
            .collect();
        assert_eq!(waits, [2, 4, 8, 16, 16, 16]);
        pace.level_for(&full(1 << 20), 1 << 21);
        pace.passed(true);
        assert_eq!(pace.wait(), SHORTEST_WAIT);
    }

    #[test]
    fn a_log_without_any_chunk_left_is_looked_at_again_at_once() {
        for (chunks, in_use, expected_ms) in [(1, 1, 1), (3, 3, 1), (1, 2, 16), (3, 4, 16), (1, 1, 1)] {
            let mut pace = Pace::new(1, Some(4096));
            // Another log, with an open chunk.
            for (chunks, in_use) in [(1, 2), (chunks, in_use), (1, 2)] {
                pace.level_for(&full(chunks), in_use);
            }
            pace.last_pass -= LONGEST_WAIT;
            pace.passed(true);
            assert_eq!(pace.wait().as_millis(), expected_ms, "{chunks} of {in_use}");
        }
    }
}
