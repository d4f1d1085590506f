//! The command line of `flame`.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::choice::ChoiceArgs;
use super::help::TEMPLATE;
use super::metric::Metric;
use super::names::NameArgs;
use super::range::RangeArgs;
use super::salvage::StackArgs;
use super::symbols::SymbolArgs;
use crate::exit;

/// Draw a flame graph
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe flame run.hst -o peak.svg                       who holds the bytes at the peak
  heapscribe flame run.hst -o leaks.html --metric leaked     a page that works offline
  heapscribe flame run.hst -o calls.folded --metric count    folded stacks for other tools
  heapscribe flame run.hst -o burst.svg --from 2s --to 5s    what was allocated in three seconds
  heapscribe flame run.hst -o live.svg --live-at mark:idle   what was live at a mark
  heapscribe flame m.hst -o pinned.svg --metric pinned       who keeps nearly empty pages
")]
pub(crate) struct FlameArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Where to write the flame graph, replacing what is there; its extension selects the format: .svg, .html or .folded
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Accepted as in other commands: a picture is always replaced
    #[arg(long = "force", hide = true)]
    _force: bool,

    /// What the width of a frame shows [default: peak; of a range: allocated]
    #[arg(long, alias = "of", value_enum)]
    metric: Option<FlameMetric>,

    /// Draw functions that call themselves, or each other in turn, once instead of once for each call
    #[arg(long)]
    pub(crate) fold_recursion: bool,

    /// Draw equal stacks of several processes as one, without a first level of processes
    #[arg(long)]
    pub(crate) merge_processes: bool,

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
}

impl FlameArgs {
    /// What the width of a frame shows.
    pub(crate) fn metric(&self) -> Metric {
        match self.metric {
            None => self.range.default_metric(),
            // A snapshot's figure is what is live.
            Some(FlameMetric::Of(metric)) => metric,
            Some(FlameMetric::Pinned) => Metric::Peak,
        }
    }

    /// What was asked for, where that is a figure of a stack.
    pub(crate) fn asked_metric(&self) -> Option<Metric> {
        match self.metric {
            Some(FlameMetric::Of(metric)) => Some(metric),
            None | Some(FlameMetric::Pinned) => None,
        }
    }

    /// Whether it is to show who keeps pages.
    pub(crate) fn is_pinned(&self) -> bool {
        self.metric == Some(FlameMetric::Pinned)
    }
}

/// What the width of a frame shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FlameMetric {
    Of(Metric),
    Pinned,
}

impl ValueEnum for FlameMetric {
    fn value_variants<'a>() -> &'a [FlameMetric] {
        &[
            FlameMetric::Of(Metric::Peak),
            FlameMetric::Of(Metric::Leaked),
            FlameMetric::Of(Metric::Allocated),
            FlameMetric::Of(Metric::Count),
            FlameMetric::Of(Metric::Temporary),
            FlameMetric::Pinned,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        const PINNED: &str = "Resident bytes of nearly empty pages that its blocks keep, of a snapshot that was taken with --pages";
        match self {
            FlameMetric::Of(metric) => metric.to_possible_value(),
            FlameMetric::Pinned => Some(PossibleValue::new("pinned").help(PINNED)),
        }
    }
}
