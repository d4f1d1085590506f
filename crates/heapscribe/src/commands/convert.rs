//! `heapscribe convert`: writes a trace in another format.

use std::process::ExitCode;

use anyhow::Result;
use heapscribe_formats::heaplog::Style;

use super::output::create;
use super::rewrite::copied;
use super::{convert_aos, partial};
use crate::cli::{ConvertArgs, ConvertTo};
use crate::message;
use heapscribe_convert::input::go_has_no_blocks;
use heapscribe_convert::memtrace::from::Sizes;
use heapscribe_convert::one_process::{self, OneProcess};
use heapscribe_convert::{Input, Kind, Opened};
use heapscribe_convert::{gotrace, heaplog, memtrace};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::Process;
use heapscribe_formats::detect::Format;
use heapscribe_formats::memtrace::Changes;
use heapscribe_views::losses::Missing;

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs) -> Result<ExitCode> {
    if args.to == ConvertTo::Aos {
        return convert_aos::run(args);
    }
    let input = Input::open(&args.trace)?;
    let from = input.kind();
    if let Some(style) = args.to.log_style().filter(|_| from != Kind::File(Format::Go)) {
        return to_log(args, input, style);
    }
    let problems = match (from, args.to) {
        (Kind::File(Format::Go), _) => return Err(go_has_no_blocks(&args.trace).into()),
        (Kind::File(Format::Memtrace), ConvertTo::Native) => {
            let mut reader = input.into_memtrace(args.salvage.options(true))?;
            memtrace::from::convert(&mut reader, create(&args.output)?, Sizes::AsAsked)?.1
        }
        (Kind::File(Format::Heaplog), ConvertTo::Native) => input.heaplog_into(create(&args.output)?)?.1,
        (Kind::File(Format::Memtrace), ConvertTo::Memtrace) => rewrite_memtrace(args, input)?,
        (_, ConvertTo::Memtrace) => {
            let resolver = crate::progress::resolver(&args.symbols.debug_dir);
            let trace = input.into_trace(args.salvage.into())?;
            if memtrace::from::is_origin(&trace) {
                return Err(lost_before(args).into());
            }
            memtrace::to::convert(&trace, one(args, &trace)?, &resolver, create(&args.output)?)?
        }
        (_, ConvertTo::Gotrace) => {
            let resolver = crate::progress::resolver(&args.symbols.debug_dir);
            let trace = input.into_trace(args.salvage.into())?;
            gotrace::convert(&trace, one(args, &trace)?, &resolver, create(&args.output)?)?
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
        (_, ConvertTo::Aos | ConvertTo::Heaphook | ConvertTo::Heaphook01) => {
            return Err(same_format(args).into());
        }
    };
    Ok(partial::exit_code(&args.trace, &problems, true))
}

/// The process that is converted, for formats that hold one; says which ones are not, and what is missing of it.
fn one<'t>(args: &ConvertArgs, trace: &'t Opened) -> Result<&'t Process, Problem> {
    let asked = OneProcess { pid: args.pid, program: args.process.as_deref() };
    let (process, left_out) = one_process::choose(trace, asked)?;
    if let Some(left_out) = left_out {
        message::note(&left_out);
    }
    partial::warn(&args.trace, Missing::of_process(process).causes());
    Ok(process)
}

/// Writes a memtrace file as this version of the format has it, with all of its events.
fn rewrite_memtrace(args: &ConvertArgs, input: Input) -> Result<Vec<String>> {
    reject_same_file(args)?;
    let mut reader = input.into_memtrace(args.salvage.options(true))?;
    let mut changes = Changes::none(reader.info());
    copied(&mut reader, create(&args.output)?, &mut changes)
}

/// The output would empty the input before it is read.
fn reject_same_file(args: &ConvertArgs) -> Result<(), Problem> {
    let canonical = |path| std::fs::canonicalize(path).ok();
    if canonical(&args.output).is_none_or(|output| Some(output) != canonical(&args.trace)) {
        return Ok(());
    }
    Err(Problem::new(
        format!("{} is both input and output", args.output.display()),
        "choose another name with -o",
    ))
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
    problems.extend(heaplog::to::convert(&trace, one(args, &trace)?, style, create(&args.output)?)?);
    Ok(partial::exit_code(&args.trace, &problems, trace.is_complete()))
}

fn same_format(args: &ConvertArgs) -> Problem {
    let shown = args.trace.display();
    Problem::new(
        format!("{shown} already has this format"),
        format!("copy it instead: cp {shown} {}", args.output.display()),
    )
}
