//! `heapscribe dump --style memtrace`: the events of a memtrace file as memtrace's own tools print them.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::Result;

use super::partial;
use crate::cli::DumpArgs;
use crate::message;
use heapscribe_convert::Input;
use heapscribe_views::dump::memtrace::Lines;

/// Why printing stopped before the end of the file.
enum Stop {
    Output(io::Error),
    Frame(String),
}

/// Runs the command.
pub(crate) fn run(args: &DumpArgs, input: Input) -> Result<ExitCode> {
    let options = args.salvage.options(!args.no_stacks);
    let mut reader = input.into_memtrace(options)?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut lines = Lines::new(&mut out, args.salvage.salvage);
    lines.begin(reader.info())?;
    let stop = reader.for_each(|moment, event| match lines.event(moment, event) {
        Ok(Ok(())) => ControlFlow::Continue(()),
        Ok(Err(unknown)) => ControlFlow::Break(Stop::Frame(unknown.to_string())),
        Err(e) => ControlFlow::Break(Stop::Output(e)),
    });
    let mut problems: Vec<_> = reader.skipped().iter().map(ToString::to_string).collect();
    match stop {
        Ok(None) => lines.end()?,
        Ok(Some(Stop::Output(e))) => return Err(e.into()),
        Ok(Some(Stop::Frame(why))) => problems.push(why),
        Err(e) => problems.push(e.to_string()),
    }
    out.flush()?;
    if reader.missing_objects() != 0 {
        let (shown, missing) = (args.trace.display(), reader.missing_objects());
        message::warning(&format!("{shown}: objects missing because packets are missing: {missing}"));
    }
    Ok(partial::exit_code(&args.trace, &problems, true))
}
