//! The sizes that the heaps' workload asks for.

use clap::ValueEnum;
use heapscribe_conformance::workload::SizeRange;

/// Phases of a run whose sizes shift.
const PHASES: usize = 20;

/// Sizes that are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Sizes {
    /// 16 bytes to 64 KiB all the time
    Steady,
    /// One range after the other
    Shifting,
    /// 16 bytes to 1 KiB
    Small,
}

impl Sizes {
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Of the `n`th of so many operations.
    #[inline(always)]
    pub(crate) fn range(self, n: usize, operations: usize) -> SizeRange {
        match self {
            Sizes::Steady => SizeRange::ALL,
            Sizes::Shifting => SizeRange::SHIFTING[n * PHASES / operations % 5],
            Sizes::Small => SizeRange::new(16, 1 << 10),
        }
    }

    /// The mean size, at most. The largest of the ranges by itself has 22 KiB.
    pub(crate) fn mean_bytes(self) -> usize {
        match self {
            Sizes::Steady => 9 << 10,
            Sizes::Shifting => 24 << 10,
            Sizes::Small => 1 << 10,
        }
    }
}
