//! The command line of `dump`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::choice::ChoiceArgs;
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
  heapscribe dump run.hst | grep ' ! '             failed calls
  heapscribe dump run.hst --json | jq -c 'select(.size > 1000000)'
  heapscribe dump app.trace --style go-heap        the heap of a Go program, in columns
  heapscribe dump data.part0.bfbs.sz --json        messages of an AOS log, as flatc prints them
", after_long_help = format!("{DUMP_LINES}\n\n{MESSAGE_LINES}\n\n{}", exit::HELP))]
pub(crate) struct DumpArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,

    /// Format of the lines
    #[arg(long, value_enum, default_value_t = DumpStyle::Native, conflicts_with = "json")]
    pub(crate) style: DumpStyle,

    /// Do not print stacks
    #[arg(long)]
    pub(crate) no_stacks: bool,

    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    #[command(flatten)]
    pub(crate) messages: DumpMessagesArgs,
}

/// How the lines of a dump look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum DumpStyle {
    /// The lines described below
    Native,
    /// A memtrace file as memtrace's own tools print it
    Memtrace,
    /// What a Go trace says about the heap, one line per change
    GoHeap,
    /// The stacks of a Go trace
    GoStacks,
    /// A heaphook log with commas, of the process with the most events and with made-up addresses
    Heaphook,
    /// The same with spaces, as heaphook 0.1 writes it
    #[value(name = "heaphook-0.1")]
    Heaphook01,
}
