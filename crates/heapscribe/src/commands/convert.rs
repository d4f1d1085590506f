//! `heapscribe convert`: writes a trace in another format.

use std::process::ExitCode;

use anyhow::Result;
use heapscribe_formats::heaplog::Style;

use super::convert_one::{exit_code, note_early_times, one};
use super::output::create;
use super::resolver::resolver;
use super::rewrite::copied;
use super::{convert_aos, convert_exports, output, partial};
use crate::cli::{ConvertArgs, ConvertTo};
use crate::message;
use heapscribe_convert::memtrace::from::Sizes;
use heapscribe_convert::refused::{go_has_no_blocks, profile_has_no_events};
use heapscribe_convert::{Input, Kind};
use heapscribe_convert::{gotrace, heaplog, memtrace};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::detect::Format;
use heapscribe_formats::memtrace::Changes;

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs) -> Result<ExitCode> {
    reject_endpoint(args)?;
    if args.has_output() {
        output::reject(&args.trace, args.output(), args.force)?;
    }
    if args.to == ConvertTo::Aos {
        return convert_aos::run(args);
    }
    let input = Input::open(&args.trace)?;
    let from = input.kind();
    if args.to.is_export() {
        return convert_exports::run(args, input);
    }
    convert_exports::reject_part(args)?;
    if let Some(style) = args.to.log_style().filter(|_| from != Kind::File(Format::Go)) {
        return to_log(args, input, style);
    }
    let problems = match (from, args.to) {
        (Kind::File(Format::Go), _) => return Err(go_has_no_blocks(&args.trace).into()),
        (Kind::File(Format::Memtrace), ConvertTo::Native) => {
            let mut reader = input.into_memtrace(args.salvage.options(true))?;
            memtrace::from::convert(&mut reader, create(args.output())?, Sizes::AsAsked)?.1
        }
        (Kind::File(Format::Heaplog), ConvertTo::Native) => input.heaplog_into(create(args.output())?)?.1,
        (Kind::File(Format::Heaptrack), ConvertTo::Native) => input.heaptrack_into(create(args.output())?)?,
        (Kind::File(Format::Memtrace), ConvertTo::Memtrace) => rewrite_memtrace(args, input)?,
        (_, ConvertTo::Memtrace) => {
            let trace = input.into_trace(args.salvage.into())?;
            note_early_times(args, &trace);
            let resolver = resolver(&args.symbols, &[&trace])?;
            if memtrace::from::is_origin(&trace) {
                return Err(lost_before(args).into());
            }
            let made = memtrace::to::convert(&trace, one(args, &trace)?, &resolver, create(args.output())?)?;
            let output = args.output().display();
            made.left_out.iter().for_each(|what| message::warning(&format!("{output}: {what}")));
            made.problems
        }
        (_, ConvertTo::Gotrace) => {
            let trace = input.into_trace(args.salvage.into())?;
            note_early_times(args, &trace);
            let resolver = resolver(&args.symbols, &[&trace])?;
            gotrace::convert(&trace, one(args, &trace)?, &resolver, create(args.output())?)?
        }
        (Kind::File(Format::Pprof | Format::HeapText | Format::Dhat | Format::Massif), ConvertTo::Native) => {
            return Err(profile_has_no_events(&args.trace).into());
        }
        // Each kind by name, so that the compiler asks how a format that is added becomes ours.
        (
            Kind::File(Format::Native | Format::Unknown)
            | Kind::Ring
            | Kind::Session
            | Kind::AosPart
            | Kind::Json,
            ConvertTo::Native,
        ) => return Err(same_format(args).into()),
        // Handled above.
        (_, _) => return Err(same_format(args).into()),
    };
    Ok(partial::exit_code(&args.trace, &problems, true))
}

/// Only profiles of OpenTelemetry have somebody who takes them.
fn reject_endpoint(args: &ConvertArgs) -> Result<(), Problem> {
    if args.endpoint.is_none() || args.to == ConvertTo::Otlp {
        return Ok(());
    }
    let what = "--endpoint is for profiles of OpenTelemetry";
    Err(Problem::new(what, "use --to otlp, or write a file with -o"))
}

/// Writes a memtrace file as this version of the format has it, with all of its events.
fn rewrite_memtrace(args: &ConvertArgs, input: Input) -> Result<Vec<String>> {
    let mut reader = input.into_memtrace(args.salvage.options(true))?;
    let mut changes = Changes::none(reader.info());
    copied(&mut reader, create(args.output())?, &mut changes)
}

/// What a native trace of a memtrace file does not have any more cannot be written into a memtrace file.
fn lost_before(args: &ConvertArgs) -> Problem {
    let shown = args.trace.display();
    Problem::new(
        format!("{shown} was made of a memtrace file, and lost its promotions, heaps and numbers of samples"),
        "convert the memtrace file itself: heapscribe convert FILE.ctf --to memtrace -o OUT.ctf",
    )
}

/// Writes a heaphook log of any trace with blocks.
fn to_log(args: &ConvertArgs, input: Input, style: Style) -> Result<ExitCode> {
    let trace = input.into_trace(args.salvage.into())?;
    let mut problems = trace.problems.clone();
    let process = one(args, &trace)?;
    problems.extend(heaplog::to::convert(&trace, process, style, create(args.output())?)?);
    Ok(exit_code(args, &trace, process, &problems))
}

fn same_format(args: &ConvertArgs) -> Problem {
    let shown = args.trace.display();
    Problem::new(
        format!("{shown} already has this format"),
        format!("copy it instead: cp {shown} {}", args.output().display()),
    )
}
