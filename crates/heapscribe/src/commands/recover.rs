//! `heapscribe recover`: writes the trace of sessions that a killed `record` left behind, or processes that
//! outlived it.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_formats::model::SessionInfo;
use heapscribe_wire::mode::Mode;

use crate::cli::RecoverArgs;
use crate::message;
use crate::record_summary;
use heapscribe_collect::{Drain, Origin};
use heapscribe_convert::ring;
use heapscribe_diagnostics::Problem;
use heapscribe_session::control;
use heapscribe_session::{base_directory, real_time_rules};
use heapscribe_units as units;

/// Runs the command.
pub(crate) fn run(args: &RecoverArgs) -> Result<ExitCode> {
    if ring::is_ring(&args.dir) {
        return of_ring(args);
    }
    base_directory::check_owner(&args.dir)?;
    if !base_directory::has_sessions(&args.dir) {
        let what = format!("there is no session in {}", args.dir.display());
        return Err(Problem::new(what, "it may have been recovered already").into());
    }
    let is_full = control::first_mode(&args.dir).is_ok_and(|mode| mode == Mode::Full);
    // One that was left by an older version says nothing of itself.
    let origin = Origin::of(&args.dir).unwrap_or_else(|| Origin {
        info: SessionInfo { rules: real_time_rules::of_base(&args.dir), ..SessionInfo::default() },
        trace: None,
    });
    let info = SessionInfo { version: env!("CARGO_PKG_VERSION").to_owned(), ..origin.info };
    let mut drain = Drain::new(
        &args.dir,
        &args.output,
        heapscribe_formats::native::write::DEFAULT_LEVEL,
        None,
        &info,
        None,
    )?;
    drain.pass();
    let living = drain.living();
    let (summary, failure) = drain.finish(None);
    message::block(&record_summary::summary(&summary, &args.output, failure.is_some(), is_full, true));
    if let Some(first) = origin.trace.filter(|first| first.exists() && !is_same(first, &args.output)) {
        message::note(&format!(
            "these are the events that `record` had not written yet; those before, and their marks, are in {}",
            first.display()
        ));
    }
    if living > 0 {
        let living = units::counted(living as u64, "process");
        message::note(&format!("still running: {living}; what was recorded stays in {}", args.dir.display()));
    } else {
        base_directory::remove_base(&args.dir);
        let (dir, trace) = (args.dir.display(), args.output.display());
        message::note(&format!("{dir} is removed: what it held is in {trace}"));
    }
    Ok(if failure.is_some() { crate::exit::partial() } else { ExitCode::SUCCESS })
}

fn is_same(one: &Path, other: &Path) -> bool {
    std::fs::canonicalize(one).ok() == std::fs::canonicalize(other).ok()
}

/// Writes the trace that a killed `record --ring` did not write.
fn of_ring(args: &RecoverArgs) -> Result<ExitCode> {
    let gathered = ring::gather_into(&args.dir, &args.output, None)?;
    gathered.problems.iter().for_each(|problem| message::warning(problem));
    let trace = args.output.display();
    message::block(&format!(
        "trace: {trace}, {}\nnext: heapscribe report {trace}",
        units::bytes(gathered.bytes)
    ));
    Ok(if gathered.problems.is_empty() { ExitCode::SUCCESS } else { crate::exit::partial() })
}
