//! The command line of `ps`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use crate::exit;

/// List recorded processes
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe ps
  heapscribe ps --json | jq '.[] | select(.alive) | .pid'
")]
pub(crate) struct PsArgs {
    /// Print JSON, with keys that stay the same from version to version
    #[arg(long)]
    pub(crate) json: bool,

    /// Where the shared files lie, if `record` was told so
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
}
