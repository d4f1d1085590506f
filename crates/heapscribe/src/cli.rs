//! The command line: every command, every flag, every default, in one place.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::exit;

mod check;
mod ctl;
mod diff;
mod dump_lines;
mod header;
mod heap;
mod kept;
mod libs;
mod looking;
mod messages;
mod modes;
mod plot;
mod real_time;
mod replay;
mod rewriting;
mod salvage;
mod top;

pub(crate) use self::check::{CheckArgs, CountOrPart};
pub(crate) use self::ctl::{CtlArgs, CtlVerb};
pub(crate) use self::diff::{DiffArgs, FlameOf};
use self::dump_lines::{DUMP_LINES, MESSAGE_LINES};
pub(crate) use self::header::HeaderArgs;
pub(crate) use self::heap::{HeapArgs, HeapChoice, RunArgs};
pub(crate) use self::kept::KeptArgs;
pub(crate) use self::libs::LibsArgs;
pub(crate) use self::looking::{ListArgs, PsArgs, SnapshotArgs, SnapshotFormat};
pub(crate) use self::messages::{DumpMessagesArgs, ReportMessagesArgs, refuse_parts};
use self::modes::parse_mean;
pub(crate) use self::plot::PlotArgs;
pub(crate) use self::real_time::{RealTimeArgs, refuse_half_measures};
pub(crate) use self::replay::{PoolSizeArgs, ReplayArgs, TouchArg};
pub(crate) use self::rewriting::{ConvertArgs, ConvertTo, HotspotsArgs, RedactArgs, SubsampleArgs};
pub(crate) use self::salvage::SalvageArgs;
pub(crate) use self::top::TopArgs;
use heapscribe_units::parse_bytes;

/// Prints help with the examples first: most people look for a line to copy.
const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}\n";

/// heapscribe writes down every block of a program's heap with its call stack, and explains the peak,
/// the leaks and the blocks that live for a moment only.
#[derive(Debug, Parser)]
#[command(version, about, help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe record -- ./server --port 80        run it, write heapscribe.server.<pid>.hst
  heapscribe report heapscribe.server.4711.hst   explain what its heap did
  heapscribe flame server.hst -o peak.svg --of peak
  heapscribe dump server.hst | grep ' ! '        calls that were refused
")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where sessions lie when nothing else is asked for: in memory.
pub(crate) const SESSION_DIR: &str = "/dev/shm";

/// Where separate debug files lie when nothing else is said.
pub(crate) const DEBUG_DIR: &str = "/usr/lib/debug";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Record(Box<RecordArgs>),
    Run(RunArgs),
    Libs(LibsArgs),
    Report(ReportArgs),
    Dump(DumpArgs),
    Flame(FlameArgs),
    Plot(PlotArgs),
    Replay(ReplayArgs),
    PoolSize(PoolSizeArgs),
    Diff(DiffArgs),
    Check(Box<CheckArgs>),
    Collect(CollectArgs),
    Ctl(CtlArgs),
    Convert(ConvertArgs),
    Subsample(SubsampleArgs),
    Redact(RedactArgs),
    Hotspots(HotspotsArgs),
    Ps(PsArgs),
    Top(TopArgs),
    Snapshot(SnapshotArgs),
    List(ListArgs),
    Header(HeaderArgs),
}

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
    pub(crate) kept: KeptArgs,

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
    pub(crate) command: Vec<std::ffi::OsString>,
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

/// Explain a trace: peak, leaks, temporaries, hottest stacks
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe report run.hst
  heapscribe report run.hst --top 3
  heapscribe report run.hst --json | jq .peak.bytes
  heapscribe report data.part0.bfbs data.part1.bfbs      channels of an AOS log
  heapscribe report heaplog_4711.log                     heaphook's
  heapscribe report run.hst --messages data.part0.bfbs   which message's handling allocated how much
")]
pub(crate) struct ReportArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Print JSON, with keys that stay the same from version to version
    #[arg(long)]
    pub(crate) json: bool,

    /// How many stacks to show in each list [default: 10; with --json 1000]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    #[command(flatten)]
    pub(crate) messages: ReportMessagesArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

/// Print every event as a line of text
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe dump run.hst | head
  heapscribe dump run.hst | grep ' ! '             calls that were refused
  heapscribe dump run.hst --json | jq -c 'select(.size > 1000000)'
  heapscribe dump app.trace --style go-heap        the heap of a Go program, as columns
  heapscribe dump data.part0.bfbs.sz --json        messages of an AOS log, as flatc prints them
", after_long_help = format!("{DUMP_LINES}\n\n{MESSAGE_LINES}\n\n{}", exit::HELP))]
pub(crate) struct DumpArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Print a JSON object per line
    #[arg(long)]
    pub(crate) json: bool,

    /// How lines look: `memtrace` prints a memtrace file as memtrace's own tools do, `go-heap` and
    /// `go-stacks` a part of a Go trace as Go's own reader has it, `heaphook` any trace with blocks as a
    /// log of heaphook's, with made-up addresses
    #[arg(long, value_enum, default_value_t = DumpStyle::Native, conflicts_with = "json")]
    pub(crate) style: DumpStyle,

    /// Leave stacks out
    #[arg(long, requires = "style")]
    pub(crate) no_stacks: bool,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    #[command(flatten)]
    pub(crate) messages: DumpMessagesArgs,
}

/// How the lines of a dump look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DumpStyle {
    /// As below
    Native,
    /// As memtrace's own tools print it
    Memtrace,
    /// What a Go trace tells of the heap, a line for each change
    GoHeap,
    /// The stacks of a Go trace
    GoStacks,
    /// As a log of heaphook's, lines with commas, of the process with most events
    Heaphook,
    /// The same with spaces, as heaphook 0.1 wrote it
    #[value(name = "heaphook-0.1")]
    Heaphook01,
}

/// Draw a flame graph
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe flame run.hst -o peak.svg                   who holds the bytes at the peak
  heapscribe flame run.hst -o leaks.html --of leaked     one page that works without a network
  heapscribe flame run.hst -o calls.folded --of count    lines for other flame graph tools
")]
pub(crate) struct FlameArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Where to write it; its ending says what: .svg, .html or .folded
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// What the width of a frame means
    #[arg(long, value_enum, default_value_t = FlameOf::Peak)]
    pub(crate) of: FlameOf,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

/// Write a trace from a session directory that was left behind
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe collect /dev/shm/heapscribe.1000.4711 -o run.hst
")]
pub(crate) struct CollectArgs {
    /// The session directory
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// Where to write the trace
    #[arg(short, long, value_name = "TRACE")]
    pub(crate) output: PathBuf,
}

/// Where names and lines of code come from.
#[derive(Clone, Debug, Args)]
pub(crate) struct SymbolArgs {
    /// Where separate debug files lie
    #[arg(long, value_name = "DIR", default_value = DEBUG_DIR)]
    pub(crate) debug_dir: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn everything_after_the_dashes_is_the_programs() {
        let cli = Cli::parse_from(["heapscribe", "record", "-q", "--", "ls", "--json", "-o", "x"]);
        let Command::Record(args) = cli.command else { panic!("{cli:?}") };
        assert!(args.quiet && args.output.is_none());
        assert_eq!(args.command, ["ls", "--json", "-o", "x"]);
    }
}
