//! The command line of `hotspots`.

use std::path::PathBuf;

use clap::Args;

use super::choice::ChoiceArgs;
use super::help::TEMPLATE;
use super::metric::Metric;
use super::names::NameArgs;
use super::range::RangeArgs;
use super::salvage::StackArgs;
use super::symbols::SymbolArgs;
use crate::exit;

/// Find the functions that allocate most, and who calls them
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe hotspots run.hst
  heapscribe hotspots run.hst --metric leaked --top 5
")]
pub(crate) struct HotspotsArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// What to count [default: allocated; of a profile: what it has]
    #[arg(long, alias = "of", value_enum)]
    pub(crate) metric: Option<Metric>,

    /// How many functions to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,

    /// How many callers to show of each function: of those that lead to it 1.2 times as often as the whole program does, in
    /// a tenth of what they allocate and for more than 0.5 % of the whole; where it has five sixths of the whole, of those
    /// that call it
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) callers: usize,

    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,

    #[command(flatten)]
    pub(crate) range: RangeArgs,

    #[command(flatten)]
    pub(crate) salvage: StackArgs,

    #[command(flatten)]
    pub(crate) names: NameArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}
