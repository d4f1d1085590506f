//! The command line of `record`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::heap::HeapArgs;
use super::help::TEMPLATE;
use super::modes::parse_mean;
use super::real_time::RealTimeArgs;
use super::retention::RetentionArgs;
use super::session_dir::SESSION_DIR;
use crate::exit;
use heapscribe_units::parse_bytes;

/// Run a program and write a trace of its heap
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP,
          override_usage = "heapscribe record [OPTIONS] -- CMD [ARGS]...", before_help = "\
Examples:
  heapscribe record -- ./server --port 80
  heapscribe record -o run.hst --quiet -- make -j8
  heapscribe record --when-full drop -- ./control-loop     never make the program wait
  heapscribe record --sample 512KiB -- ./server            cheap: one block in so many bytes
  heapscribe record --ring 256MiB -- ./server              for ever: the newest events only
  heapscribe record --latency -- ./control-loop            how long each call took, too
  heapscribe record --rt-section loop --rt-abort -- ./app  stop at the first call inside the section
")]
pub(crate) struct RecordArgs {
    /// Where to write the trace [default: heapscribe.<program>.<pid>.hst in the working directory]
    #[arg(short, long, value_name = "TRACE")]
    pub(crate) output: Option<PathBuf>,

    /// What to write: a trace of ours, or files for memtrace's tools, one for each process: TRACE that
    /// of CMD, others with their pid before the ending
    #[arg(long, value_enum, default_value_t = TraceFormat::Native)]
    pub(crate) format: TraceFormat,

    /// What the program does when the log is full: wait for us, or drop events and count them
    #[arg(long, value_enum, default_value_t = WhenFull::Wait)]
    pub(crate) when_full: WhenFull,

    /// Size of each process's log, in chunks of 64 KiB
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u32).range(2..=heapscribe_wire::limits::CHUNKS_MAX as i64))]
    pub(crate) log_chunks: u32,

    /// Where the shared files lie while the program runs; best in memory
    #[arg(long, value_name = "DIR", default_value = SESSION_DIR)]
    pub(crate) session_dir: PathBuf,

    /// How hard to compress the trace, 1 (fast) to 19 (small)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=19))]
    pub(crate) level: i32,

    /// Bytes that a process may write beside its log when nobody drains it, for example 512MiB
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = parse_bytes)]
    pub(crate) spill_limit: u64,

    /// Record samples instead of every block: one hit in SIZE bytes on average, for example 512KiB
    #[arg(long, value_name = "SIZE", value_parser = parse_mean)]
    pub(crate) sample: Option<u64>,

    /// Makes the same samples each time; other numbers, others
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) sample_seed: Option<u64>,

    /// Begin with every block, or with nothing until `heapscribe ctl PID start`
    #[arg(long, value_enum, default_value_t = StartMode::Full, conflicts_with = "sample")]
    pub(crate) mode: StartMode,

    #[command(flatten)]
    pub(crate) heap: HeapArgs,

    #[command(flatten)]
    pub(crate) retention: RetentionArgs,

    #[command(flatten)]
    pub(crate) real_time: RealTimeArgs,

    /// Do not wait for processes that CMD started and that outlive it
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// Print no summary at the end
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The program to run, and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// What is recorded at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum StartMode {
    Full,
    Off,
}

/// A format that traces are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum TraceFormat {
    /// Ours, of all processes
    Native,
    /// That of OCaml's memtrace and its viewer, of one process
    Memtrace,
}

/// What the program does when the log is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum WhenFull {
    Wait,
    Drop,
}
