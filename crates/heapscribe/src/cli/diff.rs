//! The command line of `diff`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::choice::ChoiceArgs;
use super::help::TEMPLATE;
use super::metric::Metric;
use super::names::NameArgs;
use super::range::{BaselineArgs, RangeArgs};
use super::salvage::StackArgs;
use super::symbols::SymbolArgs;
use crate::exit;
use heapscribe_diagnostics::Problem;

/// Compare two traces or snapshots, stack by stack
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::HELP, before_help = "\
Examples:
  heapscribe diff before.hst after.hst
  heapscribe diff before.hst after.hst --metric leaked --top 3
  heapscribe snapshot server -o now.hst && heapscribe diff an-hour-ago.hst now.hst
  heapscribe diff run.hst --baseline-live-at mark:warm --live-at 100%
  heapscribe diff old.ctf new.ctf --metric count --json | jq .change
")]
pub(crate) struct DiffArgs {
    /// The first trace or snapshot
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,

    /// The trace or snapshot to compare with it [default: BEFORE, with another range of time]
    #[arg(value_name = "AFTER")]
    after: Option<PathBuf>,

    /// What to compare [default: peak; for snapshots: leaked, which is what is live; for ranges: allocated]
    #[arg(long, alias = "by", value_enum)]
    metric: Option<Metric>,

    /// Print JSON; its keys are stable across versions
    #[arg(long)]
    pub(crate) json: bool,

    /// How many stacks to show that grew, and that shrank [default: 10; with --json 1000]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,

    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,

    #[command(flatten)]
    range: RangeArgs,

    #[command(flatten)]
    baseline: BaselineArgs,

    #[command(flatten)]
    pub(crate) salvage: StackArgs,

    #[command(flatten)]
    pub(crate) names: NameArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

/// One side of the comparison.
pub(crate) struct DiffSide<'a> {
    pub(crate) file: &'a Path,
    pub(crate) range: RangeArgs,
}

impl DiffArgs {
    /// What is compared: the first with the second.
    pub(crate) fn sides(&self) -> Result<[DiffSide<'_>; 2], Problem> {
        let baseline = self.range.of_baseline(&self.baseline);
        if self.after.is_none() && baseline == self.range {
            let what = format!(
                "{} is the only trace, so there is nothing to compare it with",
                self.before.display()
            );
            let hint =
                "name a second trace, or another range of this one, such as --baseline-to 50% --from 50%";
            return Err(Problem::new(what, hint));
        }
        if baseline.live_at.is_some() != self.range.live_at.is_some() {
            let what = "one side is what was live at a moment, the other is not";
            return Err(Problem::new(what, "give both --live-at and --baseline-live-at, or neither"));
        }
        let after = self.after.as_ref().unwrap_or(&self.before);
        let side = |file, range| DiffSide { file, range };
        Ok([side(&self.before, baseline), side(after, self.range.clone())])
    }

    /// The metric that is asked for.
    pub(crate) const fn metric(&self) -> Option<Metric> {
        self.metric
    }

    /// The one that is compared unless another is asked for.
    pub(crate) fn default_metric(&self) -> Metric {
        let baseline = self.range.of_baseline(&self.baseline);
        if self.range.is_any() { self.range.default_metric() } else { baseline.default_metric() }
    }
}
