//! The command line of `plot`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::salvage::SalvageArgs;
use crate::exit;

/// Draw the heap over time
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe plot run.hst -o run.pdf      for print
  heapscribe plot run.hst -o run.svg      for the screen
")]
pub(crate) struct PlotArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Where to write it; its ending says what: .pdf, .svg or .png
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,
}
