//! The command lines of `subsample` and `redact`, which write a trace in the format that it has.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::moment::{Moment, parse_moment};
use super::salvage::SalvageArgs;
use crate::exit;
use heapscribe_units::parse_rate;

/// Write a smaller trace: a sample of the blocks, or a time span
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe subsample run.hst --rate 1e-4 -o small.hst      sample one of 10,000 8-byte words
  heapscribe subsample run.hst --from 10s --to 12.5s -o part.hst
  heapscribe subsample run.hst --from mark:loaded -o part.hst
")]
pub(crate) struct SubsampleArgs {
    /// The trace, in heapscribe's format or memtrace's
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Where to write the smaller trace
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Replace FILE even when it is a trace of heapscribe
    #[arg(long)]
    pub(crate) force: bool,

    /// Sampling rate of the new trace: samples per 8-byte word [default: the rate of TRACE]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,

    /// Leave out what happened before this moment, such as 1.5s, 30%, mark:NAME, section:NAME or peak, and all of the
    /// blocks that were allocated before
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment)]
    pub(crate) from: Option<Moment>,

    /// Leave out what happened at this moment or later
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment)]
    pub(crate) to: Option<Moment>,

    /// Seed for sampling; the same seed picks the same blocks
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,
}

/// Write a trace without names; sizes, times and stacks stay
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe redact run.hst -o for-the-bug-report.hst
")]
pub(crate) struct RedactArgs {
    /// The trace, in heapscribe's format or memtrace's
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Where to write the redacted trace
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Replace FILE even when it is a trace of heapscribe
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,
}
