//! A live block, as far as its place in memory is concerned.

/// A live block of the heap, in memory or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Placed {
    pub(super) address: u64,
    pub(super) size_bytes: u64,
    /// The node of its stack.
    pub(super) node: u32,
    pub(super) age_ns: u64,
}
