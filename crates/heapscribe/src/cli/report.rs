//! The command line of `report`.

use std::path::PathBuf;

use clap::Args;

use super::choice::ChoiceArgs;
use super::help::TEMPLATE;
use super::messages::ReportMessagesArgs;
use super::names::NameArgs;
use super::range::RangeArgs;
use super::salvage::StackArgs;
use super::symbols::SymbolArgs;
use crate::exit;

/// Explain a trace: peak, leaks, temporary blocks, hottest stacks
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe report run.hst
  heapscribe report run.hst --top 3
  heapscribe report run.hst --json | jq .peak.bytes
  heapscribe report run.hst --from 2s --to 5s            what happened in three seconds
  heapscribe report run.hst --live-at peak --born-in mark:loaded..mark:done
  heapscribe report snapshot.hst --memory                what the resident memory is made of
  heapscribe report ocaml.ctf                            a trace of OCaml's memtrace
  heapscribe report heaplog_4711.log                     a log of heaphook
  heapscribe report run.hst --messages data.part0.bfbs   allocations per handled message
  heapscribe report data.part0.bfbs data.part1.bfbs      the channels of an AOS message log
")]
pub(crate) struct ReportArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Print JSON; its keys are stable across versions
    #[arg(long)]
    pub(crate) json: bool,

    /// How many stacks to show in each list [default: 10; with --json 1000]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    /// What the resident memory is made of, and who keeps nearly empty pages; of a snapshot that was taken with --pages
    #[arg(long, conflicts_with = "full")]
    pub(crate) memory: bool,

    /// Print everything: all lists, tables and sections, not only the first screen
    #[arg(long)]
    pub(crate) full: bool,

    /// Step over functions with this name (with * and ?), too, where the program's own code is looked for; can be given
    /// several times
    #[arg(long, value_name = "FUNCTION")]
    pub(crate) fold: Vec<String>,

    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,

    #[command(flatten)]
    pub(crate) range: RangeArgs,

    #[command(flatten)]
    pub(crate) salvage: StackArgs,

    #[command(flatten)]
    pub(crate) names: NameArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,

    #[command(flatten)]
    pub(crate) messages: ReportMessagesArgs,
}
