//! The command line of `recover`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use crate::exit;

/// Write the trace of a recording that was killed
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe recover /dev/shm/heapscribe.1000.4711.0 -o run.hst
", after_long_help = format!("{RECOVER_NOTES}\n\n{}", exit::HELP))]
pub(crate) struct RecoverArgs {
    /// The session directory that `record` left behind, or the directory of a ring
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// Where to write the trace
    #[arg(short, long, value_name = "TRACE")]
    pub(crate) output: PathBuf,

    /// Replace TRACE when it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// The trace that `record` had begun, when it was moved
    #[arg(long, value_name = "TRACE", conflicts_with = "rest_only")]
    pub(crate) join: Option<PathBuf>,

    /// Write only what `record` had not written, without the trace that it had begun
    #[arg(long)]
    pub(crate) rest_only: bool,
}

const RECOVER_NOTES: &str = "\
Notes:
  The trace has the whole recording: what `record` had written before it was killed, and what is
  in DIR. The trace that `record` had begun stays as it is, unless it has the same name.

  Once the trace is written, DIR is removed with all that was in it. While processes of the
  recording are still running, DIR stays, with their sessions.";
