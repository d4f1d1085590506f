//! The command line of `diff`, and what figures of stacks can be asked for.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use heapscribe_analyze::measure::Measure;

use super::{SalvageArgs, SymbolArgs, TEMPLATE};
use crate::exit;

/// Compare two traces or snapshots: which stacks grew and which shrank, by the names of their functions
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe diff before.hst after.hst
  heapscribe diff before.hst after.hst --by leaked --top 3
  heapscribe snapshot server -o now.hst && heapscribe diff an-hour-ago.hst now.hst
  heapscribe diff old.ctf new.ctf --by count --json | jq .change
")]
pub(crate) struct DiffArgs {
    /// The first trace, of ours or of memtrace, or a snapshot
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// The trace that it is compared with
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,

    /// What is compared [default: peak; leaked, which is what is live, of a snapshot]
    #[arg(long, value_enum)]
    pub(crate) by: Option<FlameOf>,

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

/// What the width of a frame means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum FlameOf {
    /// Bytes held when the heap was largest
    Peak,
    /// Bytes never given back
    #[value(alias = "live")]
    Leaked,
    /// Bytes asked for over the whole run
    Allocated,
    /// Number of allocations
    Count,
    /// Number of blocks that were freed before their thread's next allocation
    Temporary,
}

impl FlameOf {
    /// The figure of a stack.
    pub(crate) fn measure(self) -> Measure {
        match self {
            FlameOf::Peak => Measure::Peak,
            FlameOf::Leaked => Measure::Leaked,
            FlameOf::Allocated => Measure::Allocated,
            FlameOf::Count => Measure::Count,
            FlameOf::Temporary => Measure::Temporary,
        }
    }
}
