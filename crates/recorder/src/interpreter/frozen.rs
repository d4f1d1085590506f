//! The frames of a thread that has let go of the interpreter's lock: they stay as they are until it lets go of it again.

use core::num::NonZeroU64;

use crate::unwind::PathHash;

/// What they were when they were read last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frozen {
    thread_state: usize,
    /// How often the thread had let go of the lock; 0: nothing is known.
    releases: u64,
    /// The path of all frames; `None`: there are none.
    path: Option<PathHash>,
}

impl Frozen {
    /// The path of these frames of a state's thread, which has let go of the lock so often.
    pub(crate) fn new(thread_state: usize, releases: NonZeroU64, path: Option<PathHash>) -> Frozen {
        Frozen { thread_state, releases: releases.get(), path }
    }

    /// The path of all frames, or that there are none. `None` when the thread may have run since.
    #[inline(always)]
    pub(crate) fn path(&self, thread_state: usize, releases: NonZeroU64) -> Option<Option<PathHash>> {
        let is_same = (self.thread_state, self.releases) == (thread_state, releases.get());
        is_same.then_some(self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_until_the_next_release_or_another_state() {
        let (first, second) = (NonZeroU64::new(1).unwrap(), NonZeroU64::new(2).unwrap());
        let path = Some(PathHash::seed(None));
        assert_eq!(Frozen::default().path(0, first), None);
        assert_eq!(Frozen::new(8, first, path).path(8, first), Some(path));
        assert_eq!(Frozen::new(8, first, None).path(8, first), Some(None));
        assert_eq!(Frozen::new(8, first, path).path(8, second), None);
        assert_eq!(Frozen::new(8, first, path).path(16, first), None);
    }
}
