//! Flags of `ctl`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use heapscribe_wire::mode::Mode;

use super::help::TEMPLATE;
use super::modes::parse_mode;
use crate::exit;

/// Tell a running process what to record
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe ctl 4711 mode sampled:64KiB     sample from now on
  heapscribe ctl 4711 stop                   record nothing new, follow known blocks to their end
  heapscribe ctl 4711 start                  as `record` began, or every block if that was nothing
  heapscribe ctl 4711 mark warm                 the report tells when that was, and how large the heap
")]
pub(crate) struct CtlArgs {
    /// The process
    #[arg(value_name = "PID")]
    pub(crate) pid: u32,

    /// Where the shared files lie, if `record` was told so
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) session_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) verb: CtlVerb,
}

/// What a process is told.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CtlVerb {
    /// What to record from now on
    Mode {
        /// full, off, sampled (at 512KiB) or sampled:SIZE
        #[arg(value_name = "MODE", value_parser = parse_mode)]
        mode: Mode,
    },
    /// Record as `record` began, or every block if that was nothing
    Start,
    /// Record nothing new
    Stop,
    /// Put a mark into the trace, as if the program had said heapscribe_mark(NAME)
    Mark {
        /// What the report calls it
        name: String,
    },
    /// Keep what is live now in the session, as if the program had said heapscribe_snapshot(NAME)
    Snapshot {
        /// What `heapscribe list` calls it
        name: String,
    },
}
