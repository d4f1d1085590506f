//! The command line of `diff`, and what figures of stacks can be asked for.

use std::path::PathBuf;

use clap::Args;
use heapscribe_analyze::measure::Measure;

use super::{FlameOf, SymbolArgs, TEMPLATE};
use crate::exit;

/// Compare two traces: which stacks grew and which shrank, by the names of their functions
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe diff before.hst after.hst
  heapscribe diff before.hst after.hst --by leaked --top 3
  heapscribe diff old.ctf new.ctf --by count --json | jq .change
")]
pub(crate) struct DiffArgs {
    /// The first trace, of ours or of memtrace
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// The trace that it is compared with
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,

    /// What is compared
    #[arg(long, value_enum, default_value_t = FlameOf::Peak)]
    pub(crate) by: FlameOf,

    /// Print JSON, with keys that stay the same from version to version
    #[arg(long)]
    pub(crate) json: bool,

    /// How many stacks to show in each direction; the rest is summed [default: 10; with --json 1000]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
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
