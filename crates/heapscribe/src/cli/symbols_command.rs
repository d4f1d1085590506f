//! The command line of `symbols`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::symbols::SymbolArgs;
use crate::exit;

/// Collect the names of a trace, or name the stacks of many hosts
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe symbols run.hst -o run.symbols       where the program's files are
  heapscribe report run.hst --symbols run.symbols where they are not
  heapscribe symbols --store windows --files builds
                                                  names for the windows of `heapscribe agent`
")]
pub(crate) struct SymbolsArgs {
    /// The trace
    #[arg(value_name = "TRACE", required_unless_present = "store", conflicts_with = "store")]
    pub(crate) trace: Option<PathBuf>,

    /// Where to write the names
    #[arg(short, long, value_name = "BUNDLE", required_unless_present = "store", conflicts_with = "store")]
    pub(crate) output: Option<PathBuf>,

    /// Replace BUNDLE when it exists
    #[arg(long, conflicts_with = "store")]
    pub(crate) force: bool,

    /// A directory of tables, as `agent` and `convert --to parquet` write them: all stacks with their names go into
    /// DIR/symbols/stacks.parquet. Only what is new or has no name or line is looked up
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,

    /// A directory with programs, libraries or their debug files, known by their build ids; can be given several times
    #[arg(long, value_name = "DIR", requires = "store")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}
