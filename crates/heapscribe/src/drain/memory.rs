//! How much memory the recorded processes have by the kernel's count, sampled beside their events.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use heapscribe_formats::model::MemorySample;

use super::base::monotonic_ns;

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

/// The kernel's count for one process.
pub(crate) struct Memory {
    statm: Option<File>,
}

impl Memory {
    pub(crate) fn of(pid: u32) -> Memory {
        Memory { statm: File::open(format!("/proc/{pid}/statm")).ok() }
    }

    /// A sample; `None` when the process is gone.
    pub(crate) fn sample(&self) -> Option<MemorySample> {
        let mut text = [0; 128];
        let n = self.statm.as_ref()?.read_at(&mut text, 0).ok()?;
        let mut pages = std::str::from_utf8(&text[..n]).ok()?.split_whitespace().map(str::parse::<u64>);
        let page_bytes = rustix::param::page_size() as u64;
        let mut next = || Some(pages.next()?.ok()? * page_bytes);
        let (virtual_bytes, rss_bytes, shared_bytes) = (next()?, next()?, next()?);
        (rss_bytes > 0).then_some(MemorySample {
            mono_ns: monotonic_ns(),
            rss_bytes,
            shared_bytes,
            virtual_bytes,
        })
    }
}

/// What a process has now; `None` when it is gone.
pub(crate) fn memory_of(pid: u32) -> Option<MemorySample> {
    Memory::of(pid).sample()
}
