//! Flags of message logs, the same on every command that reads them.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use heapscribe_aos_log::layout::Layout;
use heapscribe_aos_log::read::Policy;

use heapscribe_diagnostics::Problem;

/// Heading of flags that are for message logs only.
const HEADING: &str = "AOS message logs";

/// How message logs are read.
#[derive(Clone, Debug, Args)]
pub(crate) struct MessageArgs {
    /// What to do where a message log is damaged: skip the record, stop reading the file, or fail
    #[arg(long, value_enum, default_value_t = OnDamage::Skip, value_name = "WHAT")]
    pub(crate) on_damage: OnDamage,
}

/// What reading a message log does at damage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OnDamage {
    Skip,
    Stop,
    Fail,
}

impl From<OnDamage> for Policy {
    fn from(on_damage: OnDamage) -> Policy {
        match on_damage {
            OnDamage::Skip => Policy::Skip,
            OnDamage::Stop => Policy::Stop,
            OnDamage::Fail => Policy::Fail,
        }
    }
}

/// How messages are printed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct DumpMessagesArgs {
    /// More parts of the same message log
    #[arg(value_name = "PART", help_heading = None::<&str>)]
    pub(crate) more: Vec<PathBuf>,

    /// Sort messages by time instead of keeping the order of the files
    #[arg(long)]
    pub(crate) by_time: bool,

    /// Layout of the messages in JSON [default: the layout of each part]
    #[arg(long, value_enum, value_name = "YEAR")]
    pub(crate) layout: Option<LayoutYear>,

    #[command(flatten)]
    pub(crate) reading: MessageArgs,
}

/// Only message logs have several parts.
pub(crate) fn reject_parts(trace: &Path, more: &[PathBuf]) -> Result<(), Problem> {
    let Some(first) = more.first() else { return Ok(()) };
    let (shown, first) = (trace.display(), first.display());
    let what = format!("{shown} is not a message log, so {first} cannot be a part of it");
    Err(Problem::new(what, "pass one trace at a time"))
}

/// A layout of message records, by the year since which AOS writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LayoutYear {
    #[value(name = "2022")]
    Y2022,
    #[value(name = "2024")]
    Y2024,
}

impl From<LayoutYear> for Layout {
    fn from(year: LayoutYear) -> Layout {
        match year {
            LayoutYear::Y2022 => Layout::V2022,
            LayoutYear::Y2024 => Layout::V2024,
        }
    }
}

/// Messages that are shown beside a heap trace.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct ViewMessagesArgs {
    /// Message log of the same run: show its messages on the timeline
    #[arg(long, value_name = "PART", num_args = 1..)]
    pub(crate) messages: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: MessageArgs,
}

/// Messages that a heap trace is held against.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct ReportMessagesArgs {
    /// More parts of the same message log
    #[arg(value_name = "PART", help_heading = None::<&str>)]
    pub(crate) more: Vec<PathBuf>,

    /// Message log of the same run: show how much the handling of each message allocated
    #[arg(long, value_name = "PART", num_args = 1..)]
    pub(crate) messages: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: MessageArgs,
}
