//! The command line of `run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::heap::HeapArgs;
use super::help::TEMPLATE;
use crate::exit;

/// Run a program with another heap
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, mut_arg("heap", |heap| heap.required(true)),
          override_usage = "heapscribe run --heap HEAP [OPTIONS] -- CMD [ARGS]...", before_help = "\
Examples:
  heapscribe run --heap tlsf --pool 64MiB --lock -- ./control-loop
  heapscribe run --heap tlsf --stats -- ./control-loop  print statistics of the heap at the end
  heapscribe run --heap ./libmine.so -- ./server        your own heap, see docs/heaps.md
  heapscribe record --heap tlsf -- ./control-loop       record a program with another heap
")]
pub(crate) struct RunArgs {
    /// Print the heap statistics of each process at the end: pool, used, peak, free, growths, failures
    #[arg(long)]
    pub(crate) stats: bool,

    /// Write these statistics as JSON; its keys are stable across versions
    #[arg(long, value_name = "FILE")]
    pub(crate) stats_json: Option<PathBuf>,

    /// Directory for heap statistics while the program runs; should be in memory. Without it:
    /// /dev/shm, or another place if less than 256 MiB are free there
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,

    /// The program to run, with its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,

    #[command(flatten)]
    pub(crate) heap: HeapArgs,
}
