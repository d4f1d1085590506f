//! The figures of a stack that `flame`, `diff` and `hotspots` can be asked for.

use clap::ValueEnum;
use heapscribe_analyze::measure::Measure;

/// A figure of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Metric {
    /// Bytes live at the peak of the heap
    Peak,
    /// Bytes never freed
    #[value(alias = "live")]
    Leaked,
    /// Bytes allocated over the whole run
    Allocated,
    /// Number of allocations
    Count,
    /// Blocks freed before their thread's next allocation
    Temporary,
}

impl Metric {
    /// The figure of a stack.
    pub(crate) fn measure(self) -> Measure {
        match self {
            Metric::Peak => Measure::Peak,
            Metric::Leaked => Measure::Leaked,
            Metric::Allocated => Measure::Allocated,
            Metric::Count => Measure::Count,
            Metric::Temporary => Measure::Temporary,
        }
    }
}
