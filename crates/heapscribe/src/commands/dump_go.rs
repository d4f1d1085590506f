//! `heapscribe dump` of Go traces.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context, Result};

use super::partial;
use crate::cli::{DumpArgs, DumpStyle};
use heapscribe_convert::Input;
use heapscribe_convert::gotrace::go_problems;
use heapscribe_views::dump::go::lines::Lines;
use heapscribe_views::dump::go::objects::Objects;
use heapscribe_views::dump::go::{GoTrace, Printer, StackNumber, oracle};

/// Runs the command.
pub(crate) fn run(args: &DumpArgs, input: Input) -> Result<ExitCode> {
    let trace = input.into_go()?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match args.style {
        DumpStyle::GoStacks => oracle::stacks(&mut out, &trace)?,
        DumpStyle::GoHeap => {
            oracle::heap_heading(&mut out, &trace)?;
            each(args, &trace, |event| oracle::heap(&mut out, &trace, event))?;
        }
        _ if args.json => print(args, &trace, &mut Objects { out: &mut out })?,
        _ => print(args, &trace, &mut Lines { out: &mut out })?,
    }
    out.flush()?;
    Ok(partial::exit_code(&args.trace, &go_problems(&trace), true))
}

fn print(args: &DumpArgs, trace: &GoTrace, printer: &mut dyn Printer) -> Result<()> {
    printer.begin(trace)?;
    for (generation, id) in trace.stack_ids() {
        let number = trace.generations().get(generation as usize).map_or(0, |g| g.number);
        if let Some(mut frames) = trace.stack(generation, id).filter(|_| !args.no_stacks) {
            printer.stack(StackNumber { generation: number, stack: id }, &mut frames)?;
        }
    }
    each(args, trace, |event| printer.event(trace, event))
}

/// Prints each event, until the output fails.
fn each(
    args: &DumpArgs,
    trace: &GoTrace,
    mut print: impl FnMut(&heapscribe_formats::gotrace::Event<'_>) -> io::Result<()>,
) -> Result<()> {
    let read = trace.for_each(|event| match print(event) {
        Ok(()) => ControlFlow::Continue(()),
        Err(e) => ControlFlow::Break(e),
    });
    match read.with_context(|| format!("cannot read {}", args.trace.display()))? {
        Some(e) => Err(e.into()),
        None => Ok(()),
    }
}
