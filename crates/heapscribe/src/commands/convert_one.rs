//! The process of a trace that is converted into a format with room for one.

use std::process::ExitCode;

use heapscribe_convert::Opened;
use heapscribe_convert::one_process::{self, OneProcess};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::Process;
use heapscribe_units::{counted, short_bytes};
use heapscribe_views::losses::Missing;
use heapscribe_views::text::early_times;

use super::partial;
use crate::cli::ConvertArgs;
use crate::{exit, message};

/// The process that is converted, for formats that hold one; says which ones are not, and what is missing of it.
pub(super) fn one<'t>(args: &ConvertArgs, trace: &'t Opened) -> Result<&'t Process, Problem> {
    let asked = OneProcess { pid: args.pid, program: args.process.as_deref() };
    let (process, left_out) = one_process::choose(trace, asked)?;
    if let Some(left_out) = left_out {
        message::note(&left_out);
    }
    partial::warn(&args.trace, Missing::of_process(process).causes());
    let so = match process.evicted.live() {
        None => "; they are not in what is written".to_owned(),
        Some((blocks, bytes)) => {
            let blocks = counted(blocks, "block");
            let bytes = short_bytes(bytes);
            format!("; neither they nor {blocks} ({bytes}) that were live after them are in what is written")
        }
    };
    partial::warn_of_ring(&args.trace, &process.evicted, &so);
    Ok(process)
}

/// Says that times are early, of formats that have times and cannot say it themselves.
pub(super) fn note_early_times(args: &ConvertArgs, trace: &Opened) {
    if args.to.has_times()
        && let Some(sentence) = early_times::sentence(trace.early_times())
    {
        message::note(&format!("{}: {sentence}", args.output().display()));
    }
}

/// 0 when all of the process is in what was written; losses of the recording are no less missing from it.
pub(super) fn exit_code(
    args: &ConvertArgs,
    trace: &Opened,
    process: &Process,
    problems: &[String],
) -> ExitCode {
    let is_whole = problems.is_empty() && trace.is_complete();
    if is_whole && Missing::of_process(process).lacks_events() {
        return exit::partial();
    }
    partial::exit_code(&args.trace, problems, trace.is_complete())
}
