//! How many descriptors sessions may take. Each takes some as long as its process lives; where these are all that there
//! are, others wait in their directories until some have ended. (With `ulimit -n 32` a hundred of two hundred processes
//! were taken for sessions half made, and removed.)

use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use heapscribe_diagnostics as diagnostics;
use heapscribe_session::is_out_of_descriptors;
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, getrlimit};

/// What stays free for files that are open for a moment: a table of live blocks, a snapshot, a map of memory.
const SPARE: u64 = 32;

/// After so long a time it is said that sessions wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether sessions wait for the descriptors of others.
#[derive(Default)]
pub(crate) struct Shortage {
    since: Option<Instant>,
    is_printed: bool,
}

impl Shortage {
    /// Whether some wait, as the last look found it.
    pub(crate) fn is_there(&self) -> bool {
        self.since.is_some()
    }

    /// Notes what a look finds, and says it once when it lasts: services may run for ever, and what others do is in their
    /// sessions only as far as these have room.
    pub(crate) fn note(&mut self, is_there: bool) {
        self.since = is_there.then(|| self.since.unwrap_or_else(Instant::now));
        if self.since.is_some_and(|since| since.elapsed() > PATIENCE)
            && !std::mem::replace(&mut self.is_printed, true)
        {
            diagnostics::warning(
                "some processes wait to be looked at until others have ended: there are too few file descriptors",
            );
            diagnostics::hint("raise the limit: ulimit -n 4096");
        }
    }
}

/// Whether there is hardly a descriptor left: the kernel gives the lowest that is free.
pub(crate) fn are_scarce() -> bool {
    let Some(most) = getrlimit(Resource::Nofile).current else { return false };
    match eventfd(0, EventfdFlags::CLOEXEC) {
        Ok(next) => next.as_raw_fd() as u64 >= most - SPARE.min(most / 2),
        Err(e) => is_out_of_descriptors(&e.into()),
    }
}
