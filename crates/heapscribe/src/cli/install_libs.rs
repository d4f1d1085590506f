//! The command line of `install-libs`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use crate::exit;

/// Place the heap libraries, under heaphook's names and ours, to be preloaded without heapscribe
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe install-libs /opt/heaps
  LD_PRELOAD=/opt/heaps/libpreloaded_heaptrack.so ./node       writes heaplog.<pid>.log
  LD_PRELOAD=/opt/heaps/libpreloaded_tlsf.so INITIAL_MEMPOOL_SIZE=200000000 ./node
  heapscribe install-libs --list                                       what each is for
")]
pub(crate) struct InstallLibsArgs {
    /// Where to place them; made when it is not there
    #[arg(value_name = "DIR", required_unless_present = "list")]
    pub(crate) directory: Option<PathBuf>,

    /// Only say which there are, and place none
    #[arg(long, conflicts_with = "directory")]
    pub(crate) list: bool,

    /// Overwrite files of these names that are not ours
    #[arg(long)]
    pub(crate) force: bool,

    /// Say it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
