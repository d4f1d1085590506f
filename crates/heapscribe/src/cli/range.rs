//! Flags that choose a range of time, the same on every command that explains a trace.

use std::path::Path;

use clap::Args;
use heapscribe_convert::ranges::IndexOptions;
use heapscribe_diagnostics::Problem;
use heapscribe_units::parse_bytes;

use super::metric::Metric;
use super::moment::{Moment, parse_moment, parse_moments};

const HEADING: &str = "Ranges of time";

/// Which blocks are looked at, by the time of their birth and death.
#[derive(Clone, PartialEq, Debug, Args)]
pub(crate) struct RangeArgs {
    /// Only what happened from this moment on, such as 1.5s, 30%, mark:NAME, section:NAME or peak
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment, help_heading = HEADING)]
    pub(crate) from: Option<Moment>,

    /// Only what happened before this moment
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment, help_heading = HEADING)]
    pub(crate) to: Option<Moment>,

    /// Only blocks that are live at this moment
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment, help_heading = HEADING)]
    pub(crate) live_at: Option<Moment>,

    /// Only blocks that were allocated between these moments, such as mark:A..mark:B or section:NAME
    #[arg(long, value_name = "FROM..TO", value_parser = parse_moments, help_heading = HEADING)]
    pub(crate) born_in: Option<(Moment, Moment)>,

    /// Only blocks that were freed between these moments; with --born-in, both at times of their own
    #[arg(long, value_name = "FROM..TO", value_parser = parse_moments, conflicts_with_all = ["live_at", "from", "to"], help_heading = HEADING)]
    pub(crate) freed_in: Option<(Moment, Moment)>,

    /// Memory for making the index TRACE.idx, which answers questions about ranges fast
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_bytes, help_heading = HEADING)]
    index_memory: u64,

    /// Neither use nor write an index: read all events
    #[arg(long, help_heading = HEADING)]
    no_index: bool,
}

/// The same on commands that have another `--to`.
#[derive(Clone, PartialEq, Debug, Args)]
pub(crate) struct PartArgs {
    /// Only what happened between these moments, such as 2s..5s, mark:A..mark:B or section:NAME
    #[arg(long, value_name = "FROM..TO", value_parser = parse_moments, help_heading = HEADING)]
    range: Option<(Moment, Moment)>,

    /// Only blocks that are live at this moment
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment, help_heading = HEADING)]
    live_at: Option<Moment>,

    /// Memory for making the index TRACE.idx, which answers questions about ranges fast
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_bytes, help_heading = HEADING)]
    index_memory: u64,

    /// Neither use nor write an index: read all events
    #[arg(long, help_heading = HEADING)]
    no_index: bool,
}

impl PartArgs {
    /// The range.
    pub(crate) fn range(&self) -> RangeArgs {
        let (from, to) = self.range.clone().map_or((None, None), |(from, to)| (Some(from), Some(to)));
        let (index_memory, no_index) = (self.index_memory, self.no_index);
        RangeArgs {
            from,
            to,
            live_at: self.live_at.clone(),
            born_in: None,
            freed_in: None,
            index_memory,
            no_index,
        }
    }
}

/// Another range, of what is compared.
#[derive(Clone, Debug, Args)]
pub(crate) struct BaselineArgs {
    /// Compare with another range: BEFORE from this moment on
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment, help_heading = HEADING)]
    baseline_from: Option<Moment>,

    /// Compare with another range: BEFORE up to this moment
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment, help_heading = HEADING)]
    baseline_to: Option<Moment>,

    /// Compare with another moment: what was live in BEFORE then
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment, help_heading = HEADING)]
    baseline_live_at: Option<Moment>,

    /// Compare with other blocks: those of BEFORE that were allocated between these moments
    #[arg(long, value_name = "FROM..TO", value_parser = parse_moments, help_heading = HEADING)]
    baseline_born_in: Option<(Moment, Moment)>,

    /// Compare with other blocks: those of BEFORE that were freed between these moments
    #[arg(long, value_name = "FROM..TO", value_parser = parse_moments, conflicts_with_all = ["baseline_live_at", "baseline_from", "baseline_to"], help_heading = HEADING)]
    baseline_freed_in: Option<(Moment, Moment)>,
}

impl RangeArgs {
    /// The range of the other side of a comparison: the same if nothing else is asked for.
    pub(crate) fn of_baseline(&self, args: &BaselineArgs) -> RangeArgs {
        let args = args.clone();
        let other = RangeArgs {
            from: args.baseline_from,
            to: args.baseline_to,
            live_at: args.baseline_live_at,
            born_in: args.baseline_born_in,
            freed_in: args.baseline_freed_in,
            ..*self
        };
        if other.is_any() { other } else { self.clone() }
    }

    /// Whether a range is asked for.
    pub(crate) fn is_any(&self) -> bool {
        let is_timed = self.from.is_some() || self.to.is_some() || self.live_at.is_some();
        is_timed || self.born_in.is_some() || self.freed_in.is_some()
    }

    /// What is looked at of stacks unless something else is asked for: of all the time what the peak consists of.
    pub(crate) fn default_metric(&self) -> Metric {
        if self.is_any() && self.live_at.is_none() { Metric::Allocated } else { Metric::Peak }
    }

    /// The range, in words; nothing for all.
    pub(crate) fn in_words(&self) -> String {
        let moment = |before: &str, moment: &Option<Moment>| Some(format!("{before} {}", moment.as_ref()?));
        let born = self.born_in.as_ref().map(|(from, to)| format!("allocated in {from}..{to}"));
        let freed = self.freed_in.as_ref().map(|(from, to)| format!("freed in {from}..{to}"));
        let live = moment("live at", &self.live_at);
        let parts = [moment("from", &self.from), moment("to", &self.to), born, freed, live];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// How to make an index.
    pub(crate) fn index(&self) -> IndexOptions {
        IndexOptions { memory_bytes: self.index_memory, is_wanted: !self.no_index }
    }

    /// Refuses a range of what has no time, such as a snapshot.
    pub(crate) fn reject(&self, trace: &Path, what: &str) -> Result<(), Problem> {
        if !self.is_any() {
            return Ok(());
        }
        let what = format!("{} is {what}, of which no range can be chosen", trace.display());
        Err(Problem::new(what, "remove --from, --to, --live-at, --born-in and --freed-in"))
    }
}
