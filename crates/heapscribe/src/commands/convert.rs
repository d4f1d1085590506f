//! `heapscribe convert`: writes a trace in another format.

use std::process::ExitCode;

use anyhow::Result;
use heapscribe_formats::detect::Format;
use heapscribe_formats::heaplog::Style;

use super::output::create;
use super::{convert_aos, partial};
use crate::cli::{ConvertArgs, ConvertTo};
use crate::convert::from_memtrace::{self, Sizes};
use crate::convert::{to_gotrace, to_heaplog, to_memtrace};
use crate::message::Problem;
use crate::symbols::Resolver;
use crate::trace_file;

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs) -> Result<ExitCode> {
    if args.to == ConvertTo::Aos {
        return convert_aos::run(args);
    }
    let from = trace_file::format(&args.trace)?;
    if let Some(style) = args.to.log_style().filter(|_| from != Format::Go) {
        return to_log(args, style);
    }
    let problems = match (from, args.to) {
        (Format::Memtrace, ConvertTo::Native) => {
            let mut reader = trace_file::open_memtrace(&args.trace, args.salvage.options(true))?;
            from_memtrace::convert(&mut reader, create(&args.output)?, Sizes::AsAsked)?.1
        }
        (Format::Heaplog, ConvertTo::Native) => {
            trace_file::convert_heaplog(&args.trace, create(&args.output)?)?.1
        }
        (Format::Native | Format::Unknown | Format::Heaplog, ConvertTo::Memtrace) => {
            let resolver = Resolver { debug_dir: args.symbols.debug_dir.clone() };
            let trace = trace_file::open(&args.trace, args.salvage)?;
            to_memtrace::convert(&trace, args.pid, &resolver, create(&args.output)?)?
        }
        (Format::Native | Format::Unknown | Format::Memtrace | Format::Heaplog, ConvertTo::Gotrace) => {
            let resolver = Resolver { debug_dir: args.symbols.debug_dir.clone() };
            let trace = trace_file::open(&args.trace, args.salvage)?;
            to_gotrace::convert(&trace, args.pid, &resolver, create(&args.output)?)?
        }
        (Format::Go, _) => return Err(trace_file::go_has_no_blocks(&args.trace).into()),
        // Conversions to AOS and heaphook are handled above.
        (Format::Memtrace, ConvertTo::Memtrace)
        | (_, ConvertTo::Native | ConvertTo::Aos | ConvertTo::Heaphook | ConvertTo::Heaphook01) => {
            return Err(same_format(args).into());
        }
    };
    Ok(partial::exit_code(&args.trace, &problems, true))
}

/// Writes a heaphook log of any trace with blocks.
fn to_log(args: &ConvertArgs, style: Style) -> Result<ExitCode> {
    let trace = trace_file::open(&args.trace, args.salvage)?;
    let mut problems = trace.problems.clone();
    problems.extend(to_heaplog::convert(&trace, args.pid, style, create(&args.output)?)?);
    Ok(partial::exit_code(&args.trace, &problems, trace.is_complete()))
}

fn same_format(args: &ConvertArgs) -> Problem {
    let shown = args.trace.display();
    Problem::new(
        format!("{shown} already has this format"),
        format!("copy it instead: cp {shown} {}", args.output.display()),
    )
}
