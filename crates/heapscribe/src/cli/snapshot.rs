//! The command lines of `snapshot` and `list`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::help::TEMPLATE;
use super::symbols::SymbolArgs;
use crate::exit;

/// Write the live blocks of a recorded process to a file
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe snapshot 4711                       write heapscribe.PROGRAM.4711.hst
  heapscribe report heapscribe.server.4711.hst   explain what is live, and since when
  heapscribe snapshot server --pages -o m.hst    with its pages, for `report m.hst --memory`
  heapscribe snapshot server -o live.pb.gz       for `go tool pprof` and other pprof viewers
  heapscribe snapshot /dev/shm/heapscribe.1000.4700.0/4711.81200 -o dead.hst
  heapscribe snapshot run.hst --download after-load -o after-load.hst
", after_long_help = format!("{SNAPSHOT_NOTES}\n\n{}", exit::HELP))]
pub(crate) struct SnapshotArgs {
    /// The process: its PID, the name of its program, or its session directory; or a trace, with --download (a file of
    /// that name is taken if it is a trace)
    #[arg(value_name = "PID|NAME|TRACE")]
    pub(crate) process: String,

    /// Where to write the snapshot [default: heapscribe.PROGRAM.PID.hst, then heapscribe.PROGRAM.PID.2.hst, ...]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Replace FILE when it exists
    #[arg(long)]
    pub(crate) force: bool,

    /// Format of the snapshot [default: pprof if FILE ends in .pb or .pb.gz, otherwise native]
    #[arg(long, value_enum)]
    pub(crate) format: Option<SnapshotFormat>,

    /// pprof: write one sample per block, with its address, size, time and thread
    #[arg(long)]
    pub(crate) by_block: bool,

    /// Also write what the process has mapped and which pages are in memory, for `report --memory` and
    /// `flame --metric pinned`
    #[arg(long, conflicts_with = "download")]
    pub(crate) pages: bool,

    /// Also write the contents of the blocks into DIR, one file per block, named by its address
    #[arg(long, value_name = "DIR")]
    pub(crate) contents: Option<PathBuf>,

    /// Write a snapshot that the program has already taken itself, by its name, ID or PID:ID (see `heapscribe list`)
    #[arg(long, value_name = "NAME|ID", conflicts_with = "contents")]
    pub(crate) download: Option<String>,

    /// The --session-dir that `record` was started with
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

/// A format that snapshots are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum SnapshotFormat {
    /// heapscribe's own format, for `report`, `flame` and `dump`
    Native,
    /// A profile for pprof
    Pprof,
}

const SNAPSHOT_NOTES: &str = "\
Notes:
  Taking a snapshot pauses the process's allocations for some milliseconds, so that the snapshot
  shows a single instant. If that is not possible (a thread is stuck inside an allocation, or cannot
  be seen), the snapshot is taken anyway, with a warning that says why.
  Pages (--pages) are read right after that, while the process runs; the snapshot says how much was
  allocated and freed in between.
  For a process that has ended, the snapshot shows its live blocks at the end.";

/// List the snapshots that programs have taken of themselves
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe list
  heapscribe list server
  heapscribe list run.hst
  heapscribe snapshot server --download after-load -o after-load.hst
")]
pub(crate) struct ListArgs {
    /// The process: its PID, the name of its program, or its session directory; or a trace [default: all processes]
    #[arg(value_name = "PID|NAME|TRACE")]
    pub(crate) process: Option<String>,

    /// Print JSON; its keys are stable across versions
    #[arg(long)]
    pub(crate) json: bool,

    /// The --session-dir that `record` was started with
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
}
