//! The command line of `dump`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::dump_lines::{DUMP_LINES, MESSAGE_LINES};
use super::help::TEMPLATE;
use super::messages::DumpMessagesArgs;
use super::salvage::SalvageArgs;
use crate::exit;

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
