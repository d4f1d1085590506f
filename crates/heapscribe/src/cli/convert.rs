//! The command line of `convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use heapscribe_formats::heaplog::Style;

use super::help::TEMPLATE;
use super::messages::{LayoutYear, MessageArgs};
use super::salvage::SalvageArgs;
use super::symbols::SymbolArgs;
use crate::exit;

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
