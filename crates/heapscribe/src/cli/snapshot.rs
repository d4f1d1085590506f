//! The command lines of `snapshot` and `list`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::help::TEMPLATE;
use super::symbols::SymbolArgs;
use crate::exit;

/// Write down what is live in a recorded process now
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe snapshot 4711                       write heapscribe.<program>.4711.hst
  heapscribe report heapscribe.server.4711.hst   explain what is live, and since when
  heapscribe snapshot server -o live.pb.gz       for `go tool pprof` and its like
  heapscribe snapshot /dev/shm/heapscribe.1000.4700.0/4711.81200 -o dead.hst
", after_long_help = format!("{SNAPSHOT_NOTES}\n\n{}", exit::HELP))]
pub(crate) struct SnapshotArgs {
    /// The process: its number, the name of its program, or its session directory
    #[arg(value_name = "PID|NAME")]
    pub(crate) process: String,

    /// Where to write it [default: heapscribe.<program>.<pid>.hst in the working directory]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// What to write [default: pprof for names that end in .pb or .pb.gz, else native]
    #[arg(long, value_enum)]
    pub(crate) format: Option<SnapshotFormat>,

    /// In pprof, a sample for each block with its address, size, time and thread
    #[arg(long)]
    pub(crate) by_block: bool,

    /// Also write what is in the blocks, a file each, named by their addresses
    #[arg(long, value_name = "DIR")]
    pub(crate) contents: Option<PathBuf>,

    /// Write the snapshot that the program has taken itself under this name or number instead
    #[arg(long, value_name = "NAME|ID", conflicts_with = "contents")]
    pub(crate) download: Option<String>,

    /// Where the shared files lie, if `record` was told so
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

/// A format that snapshots are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SnapshotFormat {
    /// A trace of ours, for `report`, `flame` and `dump`
    Native,
    /// A profile for pprof
    Pprof,
}

const SNAPSHOT_NOTES: &str = "\
Notes:
  The process is held back for some milliseconds, only where it allocates, so that what is written
  was live at one instant. When that can not be had (a thread is stuck in the middle of an
  allocation, or can not be seen) the snapshot is taken all the same, and says so and why.
  Of a process that has ended its table is read as it left it.";

/// List the snapshots that programs have taken of themselves
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe list
  heapscribe list server
  heapscribe snapshot server --download after-load -o after-load.hst
")]
pub(crate) struct ListArgs {
    /// The process: its number, the name of its program, or its session directory; all without it
    #[arg(value_name = "PID|NAME")]
    pub(crate) process: Option<String>,

    /// Print JSON, with keys that stay the same from version to version
    #[arg(long)]
    pub(crate) json: bool,

    /// Where the shared files lie, if `record` was told so
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
}
