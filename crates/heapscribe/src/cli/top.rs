//! The command line of `top`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::names::NameArgs;
use super::symbols::SymbolArgs;
use crate::exit;
use heapscribe_units::parse_duration;

/// Watch the live heap of a process
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe top 4711
  heapscribe top server --interval 5s
  heapscribe top server --once        print one screen, for scripts
  heapscribe top server --pages       show of what the resident memory is made, too
")]
pub(crate) struct TopArgs {
    /// The process: its PID, the name of its program, or its session directory
    #[arg(value_name = "PID|NAME")]
    pub(crate) process: String,

    /// Time between two updates; each update pauses the process's allocations for a moment
    #[arg(long = "interval", value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    pub(crate) interval_ns: u64,

    /// Print one screen and exit
    #[arg(long)]
    pub(crate) once: bool,

    /// Show of what the resident memory is made, too; each update then reads the pages of the
    /// process, which does not pause it longer
    #[arg(long)]
    pub(crate) pages: bool,

    #[command(flatten)]
    pub(crate) names: NameArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,

    /// The --session-dir that `record` or `run` was started with
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
}

/// Often enough to be of use, seldom enough to leave the process alone.
fn parse_interval(text: &str) -> Result<u64, String> {
    let ns = parse_duration(text)?;
    let sensible = 50_000_000..=3_600_000_000_000;
    if sensible.contains(&ns) { Ok(ns) } else { Err("must be between 50ms and 3600s".to_owned()) }
}
