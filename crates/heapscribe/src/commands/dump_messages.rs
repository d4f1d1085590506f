//! `heapscribe dump` of message logs: every message as a line of text or a JSON object.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_aos_log::layout::Layout;
use heapscribe_aos_log::read::Order;

use super::partial;
use crate::cli::{DumpArgs, DumpStyle};
use heapscribe_convert::message_log::{Log, layout_of};
use heapscribe_diagnostics::Problem;
use heapscribe_views::messages::{lines, objects};

/// Runs the command.
pub(crate) fn run(args: &DumpArgs) -> Result<ExitCode> {
    if args.style != DumpStyle::Native {
        let what = format!("--style does not apply to {}, a message log", args.trace.display());
        return Err(Problem::new(what, "remove --style, or use --json").into());
    }
    let paths: Vec<PathBuf> = std::iter::once(&args.trace).chain(&args.messages.more).cloned().collect();
    let order = if args.messages.by_time { Order::Time } else { Order::File };
    let mut log = Log::open(&paths, args.messages.reading.on_damage.into(), order)?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    if args.json {
        print_objects(&mut out, &mut log, args, &paths)?;
    } else {
        print_lines(&mut out, &mut log)?;
    }
    out.flush()?;
    Ok(partial::exit_code_of_files(&log.problems()))
}

fn print_objects(out: &mut dyn Write, log: &mut Log<'_>, args: &DumpArgs, paths: &[PathBuf]) -> Result<()> {
    let mut layouts: Vec<Layout> = Vec::new();
    for path in paths {
        layouts.push(args.messages.layout.map_or_else(|| layout_of(path), |year| Ok(year.into()))?);
    }
    let configurations = log.configurations();
    while let Some(owned) = log.next_message()? {
        let message = owned.message();
        let channel = configurations[owned.file].channel(message.channel_index);
        objects::print(out, &message, layouts[owned.file], channel)?;
    }
    Ok(())
}

fn print_lines(out: &mut dyn Write, log: &mut Log<'_>) -> Result<()> {
    for opened in log.parts().opened() {
        lines::print_header(out, log.path(opened.file), opened.header.as_ref())?;
    }
    let configurations = log.configurations();
    while let Some(owned) = log.next_message()? {
        let message = owned.message();
        lines::print(out, &message, configurations[owned.file].channel(message.channel_index))?;
    }
    Ok(())
}
