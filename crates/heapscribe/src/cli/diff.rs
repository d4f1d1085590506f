//! The command line of `diff`.

use std::path::PathBuf;

use clap::Args;

use super::choice::ChoiceArgs;
use super::help::TEMPLATE;
use super::metric::Metric;
use super::range::RangeArgs;
use super::salvage::SalvageArgs;
use super::symbols::SymbolArgs;
use crate::exit;

/// Compare two traces or snapshots, stack by stack
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe diff before.hst after.hst
  heapscribe diff before.hst after.hst --metric leaked --top 3
  heapscribe snapshot server -o now.hst && heapscribe diff an-hour-ago.hst now.hst
  heapscribe diff old.ctf new.ctf --metric count --json | jq .change
")]
pub(crate) struct DiffArgs {
    /// The first trace or snapshot
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// The trace or snapshot to compare with it
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,

    /// What to compare [default: peak; for snapshots: leaked, which is what is live; for ranges: allocated]
    #[arg(long, alias = "by", value_enum)]
    pub(crate) metric: Option<Metric>,

    /// Print JSON; its keys are stable across versions
    #[arg(long)]
    pub(crate) json: bool,

    /// How many stacks to show that grew, and that shrank [default: 10; with --json 1000]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,

    #[command(flatten)]
    pub(crate) range: RangeArgs,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}
