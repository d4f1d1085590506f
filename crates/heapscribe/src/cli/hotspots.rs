//! The command line of `hotspots`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::metric::Metric;
use super::salvage::SalvageArgs;
use super::symbols::SymbolArgs;
use crate::exit;

/// Show the runs of calls that have most of the bytes, wherever they stand in stacks
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe hotspots run.hst
  heapscribe hotspots run.hst --metric leaked --length 6
")]
pub(crate) struct HotspotsArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// What is counted
    #[arg(long, alias = "of", value_enum, default_value_t = Metric::Allocated)]
    pub(crate) metric: Metric,

    /// How many runs to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,

    /// Calls of a run, at most
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=64))]
    pub(crate) length: usize,

    /// Runs that are kept while counting, twice as many at times: more cost memory and make the error
    /// smaller. For `allocated` and `count` nothing else grows with the number of stacks
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pub(crate) entries: usize,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}
