//! How many descriptors sessions may take. Each takes some as long as its process lives; where these are all that there
//! are, others wait in their directories until some have ended. (With `ulimit -n 32` a hundred of two hundred processes
//! were taken for sessions half made, and removed.)

use std::os::fd::AsRawFd;

use heapscribe_session::is_out_of_descriptors;
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, getrlimit};

/// What stays free for files that are open for a moment: a table of live blocks, a snapshot, a map of memory.
const SPARE: u64 = 32;

/// Whether there is hardly a descriptor left: the kernel gives the lowest that is free.
pub(crate) fn are_scarce() -> bool {
    let Some(most) = getrlimit(Resource::Nofile).current else { return false };
    match eventfd(0, EventfdFlags::CLOEXEC) {
        Ok(next) => next.as_raw_fd() as u64 >= most - SPARE.min(most / 2),
        Err(e) => is_out_of_descriptors(&e.into()),
    }
}
