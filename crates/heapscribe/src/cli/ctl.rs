//! The command line of `ctl`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use heapscribe_wire::mode::Mode;

use super::help::TEMPLATE;
use super::modes::parse_mode;
use crate::exit;

/// Control the recording of a running process
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe ctl 4711 mode sampled:64KiB     sample from now on
  heapscribe ctl 4711 stop                   record no new blocks, only the frees of known ones
  heapscribe ctl 4711 start                  record again
  heapscribe ctl 4711 mark warm              set a mark, which `report` shows
  heapscribe ctl server mark warm            the same in the one process of this program
")]
pub(crate) struct CtlArgs {
    /// The process, by its number or the name of its program
    #[arg(value_name = "PID|NAME")]
    pub(crate) process: String,

    /// The --session-dir that `record` was started with
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) session_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) verb: CtlVerb,
}

/// What a process is to do.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CtlVerb {
    /// Set what to record from now on
    Mode {
        /// full, off, sampled (at 512KiB) or sampled:SIZE
        #[arg(value_name = "MODE", value_parser = parse_mode)]
        mode: Mode,
    },
    /// Record in the mode that `record` was started with, or every block if that was off
    Start,
    /// Record no new blocks
    Stop,
    /// Set a mark, as if the program had called heapscribe_mark(NAME)
    Mark {
        /// Name of the mark in reports
        name: String,
    },
    /// Take a snapshot and keep it in the session, as if the program had called heapscribe_snapshot(NAME)
    Snapshot {
        /// Name of the snapshot in `heapscribe list`
        name: String,
    },
}
