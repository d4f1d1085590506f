//! The command line of `install-libs`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use crate::exit;

/// Install the heap libraries for use with LD_PRELOAD
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe install-libs /opt/heaps
  LD_PRELOAD=/opt/heaps/libpreloaded_heaptrack.so ./node       write heaplog.PID.log
  LD_PRELOAD=/opt/heaps/libpreloaded_tlsf.so INITIAL_MEMPOOL_SIZE=200000000 ./node
  heapscribe install-libs --list                               what each library is for
")]
pub(crate) struct InstallLibsArgs {
    /// Where to install them; the directory is created if needed
    #[arg(value_name = "DIR", required_unless_present = "list")]
    pub(crate) directory: Option<PathBuf>,

    /// List the libraries without installing them
    #[arg(long, conflicts_with = "directory")]
    pub(crate) list: bool,

    /// Overwrite files with these names even if they are not heapscribe's
    #[arg(long)]
    pub(crate) force: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
