//! The command line of `view`.

use std::path::PathBuf;

use clap::Args;
use heapscribe_convert::ranges::IndexOptions;
use heapscribe_units::parse_bytes;

use super::help::TEMPLATE;
use super::messages::ViewMessagesArgs;
use super::salvage::StackArgs;
use super::symbols::SymbolArgs;
use crate::exit;

/// Look at a trace in the browser: any range, as graphs and tables
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe view run.hst
  heapscribe view before.hst after.hst              what has changed
  heapscribe view 4711                              a running process that is recorded
  heapscribe view run.hst -o run.html               one file, for somebody who has no trace
  heapscribe view run.hst --messages data.part0.bfbs   with the messages of an AOS log
  heapscribe view run.hst --no-open --port 8000     print the address only
")]
pub(crate) struct ViewArgs {
    /// The trace or snapshot, or a running process by its PID or NAME (a file of that name is taken if it is a trace); of
    /// two traces the second is shown, compared with the first
    #[arg(value_name = "TRACE|PID", required = true, num_args = 1..=2)]
    pub(crate) traces: Vec<PathBuf>,

    /// The --session-dir that `record` was started with, for a running process
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,

    /// Write the page to FILE, with the views that most people look at, instead of serving it: at most 10 MB, which need
    /// neither the trace nor heapscribe
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["no_open", "port", "session_dir"])]
    pub(crate) output: Option<PathBuf>,

    /// Replace FILE when it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,

    /// Do not open the browser: print the address, which only works from this machine
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Listen on this port of 127.0.0.1; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,

    /// Memory for making the index TRACE.idx, which answers questions about ranges fast
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_bytes)]
    index_memory: u64,

    /// Neither use nor write an index: read all events for each question
    #[arg(long)]
    no_index: bool,

    #[command(flatten)]
    pub(crate) salvage: StackArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,

    #[command(flatten)]
    pub(crate) messages: ViewMessagesArgs,
}

impl ViewArgs {
    /// How to make an index.
    pub(crate) fn index(&self) -> IndexOptions {
        IndexOptions { memory_bytes: self.index_memory, is_wanted: !self.no_index }
    }
}
