//! The command line of `diff`.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::metric::Metric;
use super::salvage::SalvageArgs;
use super::symbols::SymbolArgs;
use crate::exit;

/// Compare two traces or snapshots: which stacks grew and which shrank, by the names of their functions
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe diff before.hst after.hst
  heapscribe diff before.hst after.hst --metric leaked --top 3
  heapscribe snapshot server -o now.hst && heapscribe diff an-hour-ago.hst now.hst
  heapscribe diff old.ctf new.ctf --metric count --json | jq .change
")]
pub(crate) struct DiffArgs {
    /// The first trace, of ours or of memtrace, or a snapshot
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// The trace that it is compared with
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,

    /// What is compared [default: peak; leaked, which is what is live, of a snapshot]
    #[arg(long, alias = "by", value_enum)]
    pub(crate) metric: Option<Metric>,

    /// Print JSON, with keys that stay the same from version to version
    #[arg(long)]
    pub(crate) json: bool,

    /// How many stacks to show in each direction; the rest is summed [default: 10; with --json 1000]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}
