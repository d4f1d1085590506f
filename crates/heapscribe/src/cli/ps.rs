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
  heapscribe ps --clean                              forget the processes that were killed
  heapscribe ps --json | jq '.[] | select(.alive) | .pid'
")]
pub(crate) struct PsArgs {
    /// Print JSON; its keys are stable across versions
    #[arg(long)]
    pub(crate) json: bool,

    /// Remove the sessions of killed processes, which `record` keeps for `snapshot` and `report`
    #[arg(long)]
    pub(crate) clean: bool,

    /// The --session-dir that `record` or `run` was started with
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
}
