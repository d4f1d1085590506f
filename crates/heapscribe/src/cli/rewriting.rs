//! Commands that make a trace of another one, and `hotspots`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use heapscribe_formats::heaplog::Style;

use super::messages::{LayoutYear, MessageArgs};
use super::{FlameOf, SalvageArgs, SymbolArgs, TEMPLATE};
use crate::exit;
use heapscribe_units::{parse_duration, parse_rate};

/// Write a trace in another format
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe convert run.hst --to memtrace -o run.ctf     for memtrace's viewer
  heapscribe convert ocaml.ctf --to native -o ocaml.hst
  heapscribe convert run.hst --to gotrace -o run.trace && go tool trace run.trace
  heapscribe convert heaplog_4711.log --to native -o old.hst     heaphook's
  heapscribe convert data.part0.bfbs.xz --to aos --layout 2022 -o old.part0.bfbs
  heapscribe convert messages.jsonl --to aos -o data.part0.bfbs.sz     lines of `dump --json`
")]
pub(crate) struct ConvertArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// The format to write
    #[arg(long, value_enum)]
    pub(crate) to: ConvertTo,

    /// Where to write it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The process to take, where a format has room for one [default: that with most events]
    #[arg(long)]
    pub(crate) pid: Option<u32>,

    /// Layout of message records to write [default: that of the records, else 2024]
    #[arg(long, value_enum, value_name = "YEAR")]
    pub(crate) layout: Option<LayoutYear>,

    #[command(flatten)]
    pub(crate) reading: MessageArgs,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

/// A format that traces are converted into.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ConvertTo {
    /// Ours
    Native,
    /// That of OCaml's memtrace and its viewer, of one process
    Memtrace,
    /// That of Go 1.19's execution tracer, of one process
    Gotrace,
    /// A log of heaphook's, of one process, as its scripts read it: lines with commas
    Heaphook,
    /// The same with spaces, as heaphook 0.1 wrote it
    #[value(name = "heaphook-0.1")]
    Heaphook01,
    /// That of AOS's message logs; .sz, .xz or .zst at the end of the name compresses
    Aos,
}

impl ConvertTo {
    /// The form of heaphook's logs that is to be written, if it is one.
    pub(crate) fn log_style(self) -> Option<Style> {
        match self {
            ConvertTo::Heaphook => Some(Style::Commas),
            ConvertTo::Heaphook01 => Some(Style::Spaces),
            ConvertTo::Native | ConvertTo::Memtrace | ConvertTo::Gotrace | ConvertTo::Aos => None,
        }
    }
}

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

/// Show the runs of calls that have most of the bytes, wherever they stand in stacks
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe hotspots run.hst
  heapscribe hotspots run.hst --of leaked --length 6
")]
pub(crate) struct HotspotsArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// What is counted
    #[arg(long, value_enum, default_value_t = FlameOf::Allocated)]
    pub(crate) of: FlameOf,

    /// How many runs to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,

    /// Calls of a run, at most
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=64))]
    pub(crate) length: usize,

    /// Runs that are kept while counting, twice as many at times: more cost memory and make the error
    /// smaller. For `allocated` and `count` nothing else grows with the number of stacks
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pub(crate) entries: usize,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}
