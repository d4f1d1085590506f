//! The number of a native stack, and whether a signal may have interrupted it anywhere.

use heapscribe_wire::ids::StackId;

/// How a native stack was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Native {
    /// On the thread's own stack, without a signal's frame in it.
    Usual(StackId),
    /// Otherwise: a signal handler may have interrupted the interpreter anywhere.
    Unusual(StackId),
}

impl Native {
    /// The number.
    pub(super) fn id(self) -> StackId {
        let (Native::Usual(id) | Native::Unusual(id)) = self;
        id
    }
}
