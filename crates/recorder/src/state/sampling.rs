//! What a thread samples by: cells only, which `sampling` fills.

use core::cell::Cell;

use heapscribe_wire::ids::RateId;
use heapscribe_wire::sampler::Sampler;

/// What a thread samples by.
pub(crate) struct Sampling {
    /// The mode word that it follows.
    pub followed: Cell<u64>,
    /// The rate of the blocks that it samples.
    pub rate: Cell<RateId>,
    /// Bytes between two samples, on average; 0: no sample at all.
    pub mean_bytes: Cell<u64>,
    /// What draws the gaps.
    pub sampler: Cell<Option<Sampler>>,
}

impl core::fmt::Debug for Sampling {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sampling").field("rate", &self.rate.get()).finish_non_exhaustive()
    }
}

impl Sampling {
    /// Of a thread that has seen no mode yet.
    pub(crate) const fn new() -> Sampling {
        Sampling {
            followed: Cell::new(u64::MAX),
            rate: Cell::new(RateId::FULL),
            mean_bytes: Cell::new(0),
            sampler: Cell::new(None),
        }
    }

    /// Forgets all: for a thread that begins.
    pub(crate) fn clear(&self) {
        self.followed.set(u64::MAX);
        self.sampler.set(None);
    }
}
