//! What a trace that is rewritten has of another: which blocks, and by which names.

use heapscribe_wire::ids::RateId;

use super::thin::Thin;

/// The number of the only rate after thinning.
pub(super) const RATE: RateId = RateId(1);

/// Gives another name for a name.
pub type Rename<'r> = dyn Fn(&[u8]) -> Vec<u8> + 'r;

/// What to change.
pub struct Changes<'c> {
    /// Leaves blocks out.
    pub thin: Option<&'c Thin>,
    /// Gives other names to what has one.
    pub rename: Option<&'c Rename<'c>>,
}

impl Changes<'_> {
    /// The name in place of a name.
    pub(super) fn renamed(&self, name: &[u8]) -> Vec<u8> {
        self.rename.map_or_else(|| name.to_vec(), |rename| rename(name))
    }
}
