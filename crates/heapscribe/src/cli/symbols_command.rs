//! The command line of `symbols`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::symbols::SymbolArgs;
use crate::exit;

/// Collect the names that a trace needs elsewhere
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe symbols run.hst -o run.symbols       where the program's files are
  heapscribe report run.hst --symbols run.symbols where they are not
")]
pub(crate) struct SymbolsArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Where to write the names
    #[arg(short, long, value_name = "BUNDLE")]
    pub(crate) output: PathBuf,

    /// Replace BUNDLE when it exists
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}
