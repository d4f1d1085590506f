//! Flags of tables of stacks and samples.

use clap::Args;

const HEADING: &str = "Tables (parquet, arrow, csv)";

/// Who the rows are of, and which tables there are.
#[derive(Clone, PartialEq, Eq, Debug, Args)]
pub(crate) struct TableArgs {
    /// The service of all rows [default: the file name of each process's program]
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(crate) service: Option<String>,

    /// Its version [default: the build id of each process's program]
    #[arg(long, value_name = "VERSION", help_heading = HEADING)]
    pub(crate) service_version: Option<String>,

    /// A label of all rows, such as region=eu
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label, help_heading = HEADING)]
    pub(crate) labels: Vec<(String, String)>,

    /// Write the table of events, too: a row for each block
    #[arg(long, help_heading = HEADING)]
    pub(crate) events: bool,
}

impl TableArgs {
    /// Whether one was given.
    pub(crate) fn is_any(&self) -> bool {
        self.events || !self.labels.is_empty() || self.service.is_some() || self.service_version.is_some()
    }
}

pub(super) fn parse_label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("give it as KEY=VALUE")?;
    if key.is_empty() { Err("the key is empty".to_owned()) } else { Ok((key.to_owned(), value.to_owned())) }
}
