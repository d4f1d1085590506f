//! Blocks of programs' own pools, inside blocks of the heap.

use super::amounts::Amount;
use super::bounds::{Bounds, FigureBounds, Range};
use super::estimate::Estimate;
use super::tree::NodeId;

/// Blocks of programs' own pools.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pools {
    /// Allocated.
    pub allocated: Amount,
    /// Freed.
    pub freed: Amount,
    /// Never freed.
    pub leaked: Amount,
    /// Most bytes at a time in one process.
    pub peak_bytes: u64,
    /// When, ns.
    pub peak_ns: u64,
    /// Freed without having been allocated.
    pub unknown: u64,
    /// By who asked for them, in the order of the nodes.
    pub stacks: Vec<PoolStack>,
    /// What losses leave of these figures; none when they touch none of them.
    pub bounds: Option<PoolBounds>,
    /// How sure the figures are, when blocks were sampled.
    pub sampling: Option<PoolSampling>,
}

/// Blocks of pools that one stack asked for.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PoolStack {
    /// The stack.
    pub node: NodeId,
    /// Allocated.
    pub allocated: Amount,
    /// Never freed.
    pub leaked: Amount,
    /// Between what lies what it never freed, where blocks without a slot in the live table are all that is missing.
    pub leaked_bounds: Option<Bounds>,
    /// How sure the figures are, when blocks were sampled.
    pub sampling: Option<PoolStackSampling>,
}

/// What losses leave of figures of pools.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolBounds {
    /// Allocated.
    pub allocated: Bounds,
    /// Freed.
    pub freed: Bounds,
    /// Most bytes at a time in one process.
    pub peak_bytes: Range,
    /// Never freed.
    pub leaked: Bounds,
}

/// How sure figures of pools are.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PoolSampling {
    /// Allocated.
    pub allocated: Estimate,
    /// Freed.
    pub freed: Estimate,
    /// Most bytes at a time in one process.
    pub peak: Estimate,
    /// Never freed.
    pub leaked: Estimate,
}

/// How sure figures of a stack are.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PoolStackSampling {
    /// Allocated.
    pub allocated: Estimate,
    /// Never freed.
    pub leaked: Estimate,
}

impl From<FigureBounds> for PoolBounds {
    fn from(of: FigureBounds) -> Self {
        let FigureBounds { allocated, freed, peak, leaked, .. } = of;
        PoolBounds { allocated, freed, peak_bytes: peak.bytes, leaked }
    }
}

impl PoolBounds {
    /// Whether all of them are known.
    pub fn are_exact(&self) -> bool {
        [self.allocated, self.freed, self.leaked].iter().all(Bounds::is_exact) && self.peak_bytes.is_exact()
    }
}

impl PoolSampling {
    /// The same with what may have gone unseen of figures that no sample is part of.
    pub(crate) fn or_unseen(mut self, bytes: u64) -> PoolSampling {
        let PoolSampling { allocated, freed, peak, leaked } = &mut self;
        [allocated, freed, peak, leaked].into_iter().for_each(|of| of.or_unseen(bytes as f64));
        self
    }

    /// The same where nobody knows how much more there was; of what was never freed only `with_leaked`.
    pub(crate) fn open_above(mut self, with_leaked: bool) -> PoolSampling {
        let PoolSampling { allocated, freed, peak, leaked } = &mut self;
        [allocated, freed, peak].into_iter().for_each(Estimate::open_above);
        if with_leaked {
            leaked.open_above();
        }
        self
    }
}

impl PoolStackSampling {
    /// The same with what may have gone unseen of what was never freed.
    pub(crate) fn or_unseen(mut self, bytes: u64) -> PoolStackSampling {
        self.leaked.or_unseen_part(&self.allocated, bytes as f64);
        self
    }

    /// The same where nobody knows how much more there was.
    pub(crate) fn open_above(mut self) -> PoolStackSampling {
        [&mut self.allocated, &mut self.leaked].into_iter().for_each(Estimate::open_above);
        self
    }
}

impl Pools {
    /// Whether no program said anything of a pool.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty() && self.unknown == 0
    }
}
