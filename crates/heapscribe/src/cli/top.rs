//! The command line of `top`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::symbols::SymbolArgs;
use crate::exit;
use heapscribe_units::parse_duration;

/// Watch what is live in a recorded process, or the pool of one with another heap
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe top 4711
  heapscribe top server --interval 5s
  heapscribe top server --once        one screen, for scripts and mails
")]
pub(crate) struct TopArgs {
    /// The process: its number, the name of its program, or its session directory
    #[arg(value_name = "PID|NAME")]
    pub(crate) process: String,

    /// Time between two looks; each holds the process back for a moment where it allocates
    #[arg(long = "interval", value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    pub(crate) interval_ns: u64,

    /// Print one screen and end
    #[arg(long)]
    pub(crate) once: bool,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,

    /// Where the shared files lie, if `record` was told so
    #[arg(long, value_name = "DIR")]
    pub(crate) session_dir: Option<PathBuf>,
}

/// Often enough to be of use, seldom enough to leave the process alone.
fn parse_interval(text: &str) -> Result<u64, String> {
    let ns = parse_duration(text)?;
    let sensible = 50_000_000..=3_600_000_000_000;
    if sensible.contains(&ns) { Ok(ns) } else { Err("50ms to 3600s make sense".to_owned()) }
}
