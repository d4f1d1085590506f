//! A level of the heap at a moment, and which of two is the higher.

/// A level and the first moment when it was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Height {
    pub(crate) bytes: i64,
    pub(crate) ns: u64,
}

impl Height {
    pub(super) fn offer(&mut self, other: Height) {
        if other.bytes > self.bytes || (other.bytes == self.bytes && other.ns < self.ns) {
            *self = other;
        }
    }

    /// Whether a step may hold something better.
    pub(super) fn may_be_beaten(&self, bound_bytes: i64, begin_ns: u64) -> bool {
        bound_bytes > self.bytes || (bound_bytes == self.bytes && begin_ns < self.ns)
    }
}
