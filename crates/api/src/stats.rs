//! What heapscribe has counted.

use crate::counts::Counts;
use crate::find;

/// What is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Recording {
    /// Nothing now.
    Off,
    /// Some blocks, and they alone are counted.
    Sampled,
    /// Every block.
    Full,
}

/// What was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// By all threads.
    pub process: Counts,
    /// By the calling thread, which started from zero.
    pub thread: Counts,
    /// What is recorded now.
    pub recording: Recording,
}

/// What was counted until now; `None` when the program is not recorded.
///
/// ```
/// match heapscribe_api::stats() {
///     Some(stats) => println!("{} bytes so far", stats.process.allocated_bytes),
///     None => println!("run it under `heapscribe record`"),
/// }
/// ```
#[inline]
pub fn stats() -> Option<Stats> {
    let (mut process, mut thread) = (Counts::default(), Counts::default());
    let recording = match find::stats(&mut process, &mut thread)? {
        0 => Recording::Off,
        1 => Recording::Sampled,
        2 => Recording::Full,
        _ => return None,
    };
    Some(Stats { process, thread, recording })
}
