//! Why a process has no session.

use heapscribe_nolibc::sys::Errno;

/// Why there is no session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// Nobody asked for a recording.
    NotAsked,
    /// The program runs with more rights than its caller.
    Privileged,
    /// The base directory or the plan in it is not there, not ours or not of this version.
    Base(Errno),
    /// The heap's functions were not found.
    Heap,
    /// The heap is that of a sanitizer.
    Sanitizer,
    /// The session's files could not be made.
    Files(Errno),
}

impl Refusal {
    /// Whether a forked child should try again.
    pub(crate) fn is_worth_another_try(self) -> bool {
        matches!(self, Refusal::Files(_))
    }
}
