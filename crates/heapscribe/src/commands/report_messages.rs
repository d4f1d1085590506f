//! `heapscribe report` of message logs: what each channel carried, how often, how late, and what is missing.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_aos_log::read::Order;
use heapscribe_aos_log::read::channels::Channels;

use super::{output, partial};
use crate::cli::ReportArgs;
use heapscribe_convert::message_log::Log;
use heapscribe_diagnostics::Problem;
use heapscribe_views::{json, text};

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    if !args.messages.messages.is_empty() {
        let what = format!("{} is a message log, not a heap trace", args.trace.display());
        return Err(
            Problem::new(what, "pass the heap trace first: heapscribe report TRACE --messages PART").into()
        );
    }
    let paths: Vec<PathBuf> = std::iter::once(&args.trace).chain(&args.messages.more).cloned().collect();
    let mut log = Log::open(&paths, args.messages.reading.on_damage.into(), Order::Time)?;
    let mut channels = Channels::default();
    while let Some(owned) = log.next_message()? {
        channels.note(&owned.message());
    }
    let mut out = output::text(args.json);
    if args.json {
        serde_json::to_writer(&mut out, &json::messages::report(&log, &channels))?;
        writeln!(out)?;
    } else {
        text::messages::report(&mut out, &log, &channels, args.top.unwrap_or(usize::MAX))?;
    }
    out.flush()?;
    Ok(partial::exit_code_of_files(&log.problems()))
}
