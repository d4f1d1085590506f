//! What the calls from one stack did.

use super::amounts::Amount;
use super::patterns::Patterns;
use super::tree::NodeId;

/// What the calls from exactly one stack did; inclusive figures are sums over a subtree.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Stack {
    /// Its innermost frame.
    pub node: NodeId,
    /// Blocks allocated and their bytes.
    pub allocated: Amount,
    /// Blocks freed and their bytes.
    pub freed: Amount,
    /// Live at the peak of the whole trace.
    pub at_peak: Amount,
    /// Live shortly before it, where the heap rose steeply, see [`super::Answer::ascent`].
    pub before_peak: Amount,
    /// Live at the end.
    pub leaked: Amount,
    /// How old these blocks were then, where the recording has a table of them.
    pub leaked_age: Option<AgeRange>,
    /// Freed by the same thread before its next allocation.
    pub temporary: Amount,
    /// Freed by another thread than the one that allocated them.
    pub freed_by_others: u64,
    /// Calls that returned NULL.
    pub failed: u64,
    /// How long freed blocks lived.
    pub lifetime: Lifetime,
    /// Smallest request in bytes; 0 without allocations.
    pub size_min_bytes: u64,
    /// Largest request in bytes.
    pub size_max_bytes: u64,
    /// What its calls cost more than their bytes.
    pub patterns: Patterns,
}

/// Ages of blocks that are live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgeRange {
    /// Of the youngest, ns.
    pub youngest_ns: u64,
    /// Of the oldest, ns.
    pub oldest_ns: u64,
}

impl AgeRange {
    /// Of blocks of these ages and of others.
    pub(crate) fn with(&self, other: &AgeRange) -> AgeRange {
        AgeRange {
            youngest_ns: self.youngest_ns.min(other.youngest_ns),
            oldest_ns: self.oldest_ns.max(other.oldest_ns),
        }
    }
}

/// How long the blocks lived that were freed.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Lifetime {
    /// Shortest, ns; 0 when none was freed.
    pub min_ns: u64,
    /// Mean, ns; 0 when none was freed.
    pub mean_ns: f64,
    /// Longest, ns.
    pub max_ns: u64,
}
