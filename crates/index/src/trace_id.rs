//! Which trace an index is of.

/// What tells two states of a trace apart: an index of another one is not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceId {
    /// Bytes of the trace.
    pub bytes: u64,
    /// A checksum over its header and its last bytes, where its index is.
    pub checksum: u64,
}

impl TraceId {
    pub(crate) const fn row(&self) -> [u64; 2] {
        [self.bytes, self.checksum]
    }
}
