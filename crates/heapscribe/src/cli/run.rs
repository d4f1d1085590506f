//! The command line of `run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::heap::HeapArgs;
use super::help::TEMPLATE;
use super::session_dir::SESSION_DIR;
use crate::exit;

/// Run a program with another heap under it
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, mut_arg("heap", |heap| heap.required(true)),
          override_usage = "heapscribe run --heap HEAP [OPTIONS] -- CMD [ARGS]...", before_help = "\
Examples:
  heapscribe run --heap tlsf --pool 64MiB --lock -- ./control-loop
  heapscribe run --heap tlsf --stats -- ./control-loop  how the pool did, at the end
  heapscribe run --heap ./libmine.so -- ./server        a heap of your own, see docs/heaps.md
  heapscribe record --heap tlsf -- ./control-loop       both at once: another heap, recorded
")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) heap: HeapArgs,

    /// Say at the end how the heap of each process did: pool, used, peak, free, growths, failures
    #[arg(long)]
    pub(crate) stats: bool,

    /// Write that as JSON, with keys that stay the same from version to version
    #[arg(long, value_name = "FILE")]
    pub(crate) stats_json: Option<PathBuf>,

    /// Where heaps tell how they do while the program runs; best in memory
    #[arg(long, value_name = "DIR", default_value = SESSION_DIR)]
    pub(crate) session_dir: PathBuf,

    /// The program to run, and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}
