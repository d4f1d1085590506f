//! The ring of `record --ring` and `--last`: a directory that holds the newest part of a log, in files that
//! each are a row of blocks of our trace format.
//!
//! ```text
//!   session      the header of a trace, its session block, at the end its session end block
//!   process.P    of one process image: its process block, definitions, how it ended
//!   events.N     events and memory samples of all processes, in the order in which they were drained
//!   past.N       what was let go: events.0 to events.N-1 and the process files that nobody needs any more, see `past`
//! ```
//! Blocks have the numbers that they would have in one endless trace, so P is the same everywhere. What is
//! old goes a whole file at a time, after `past` counts it: at no moment is an event neither in a file nor
//! counted. `gather` makes one trace of the files, be it `record` at its end or a reader of what a killed
//! one left; what is in the trace goes in the same way.

use std::path::{Path, PathBuf};

/// How much a ring keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of all its files, and of the trace while that is made of them.
    pub bytes: u64,
    /// Age of the oldest events, ns.
    pub age_ns: u64,
}

/// The smallest ring: some chunks of a thread and what they need.
pub const RING_BYTES_MIN: u64 = 1 << 20;

/// The file of the recording itself.
pub const SESSION: &str = "session";
/// The first part of the names of files of process images.
pub const PROCESS: &str = "process";
/// That of files of events.
pub const EVENTS: &str = "events";
/// That of the count of evicted events.
pub const PAST: &str = "past";

/// Where the ring of a trace lies while it is recorded.
pub fn directory_of(trace: &Path) -> PathBuf {
    let mut name = trace.as_os_str().to_owned();
    name.push(".ring");
    PathBuf::from(name)
}

/// Whether a directory is a ring.
pub fn is_ring(path: &Path) -> bool {
    path.is_dir() && path.join(SESSION).is_file()
}

/// The file of a sort and number.
pub fn file(dir: &Path, sort: &str, number: u64) -> PathBuf {
    dir.join(format!("{sort}.{number}"))
}

/// The numbers of the files of a sort, in their order.
pub fn numbers(dir: &Path, sort: &str) -> std::io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name();
        let number: Option<u64> =
            name.to_str().and_then(|name| name.strip_prefix(sort)?.strip_prefix('.')?.parse().ok());
        found.extend(number);
    }
    found.sort_unstable();
    Ok(found)
}
