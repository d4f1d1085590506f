//! What hotspots are counted by.

/// What of an allocation is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weigh {
    /// Bytes asked for.
    Bytes,
    /// Blocks.
    Blocks,
}
