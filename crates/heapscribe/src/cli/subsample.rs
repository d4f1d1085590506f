//! The command lines of `subsample` and `redact`, which write a trace in the format that it has.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::salvage::SalvageArgs;
use crate::exit;
use heapscribe_units::{parse_duration, parse_rate};

/// Write a part of a trace: fewer blocks, drawn by chance, or a piece of its time
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe subsample run.hst --rate 1e-4 -o small.hst        each word of 8 bytes stays with this chance
  heapscribe subsample run.hst --from 10s --to 12.5s -o part.hst
")]
pub(crate) struct SubsampleArgs {
    /// The trace, of ours or of memtrace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Where to write the part
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The chance that a word has to be drawn in the new trace [default: as it is]
    #[arg(long, value_name = "CHANCE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,

    /// Leave out what was before this time since the trace's start
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) from: Option<u64>,

    /// Leave out what was at this time or later
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) to: Option<u64>,

    /// Another number draws other blocks
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,
}

/// Write a trace without names: sizes, times and the shape of stacks stay
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe redact run.hst -o for-the-bug-report.hst
")]
pub(crate) struct RedactArgs {
    /// The trace, of ours or of memtrace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Where to write it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,
}
