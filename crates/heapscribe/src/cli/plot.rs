//! The command line of `plot`.

use std::path::PathBuf;

use clap::Args;

use super::choice::ChoiceArgs;
use super::help::TEMPLATE;
use super::salvage::SalvageArgs;
use crate::exit;

/// Draw the heap over time
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe plot run.hst -o run.svg
  heapscribe plot run.hst -o run.pdf
")]
pub(crate) struct PlotArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Where to write the plot; its extension selects the format: .pdf, .svg or .png
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,
}
