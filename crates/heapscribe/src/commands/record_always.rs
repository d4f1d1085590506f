//! `heapscribe record --always`: becomes the program, with the recorder in it and in all that it starts. No process of ours
//! stays beside a service that is left on: what it records by samples is in a session directory that all such services of
//! the user share, where `heapscribe agent --all` takes it up, now or later.

use std::process::ExitCode;

use anyhow::Result;
use heapscribe_session::{Base, always};
use heapscribe_units::counted;
use heapscribe_wire::plan::Plan;

use super::agent_rate::{FIRST_MEAN_BYTES, plan};
use super::record_variables::{Runtimes, variables};
use crate::cli::RecordArgs;
use crate::launch::child;
use crate::launch::preload::{self, Preload};
use crate::message;

/// What ended processes may leave while there is no agent: it is memory that others need.
const LEFT_BYTES_MAX: u64 = 64 << 20;

/// Becomes the program.
pub(super) fn run(args: &RecordArgs) -> Result<ExitCode> {
    let runtimes = Runtimes::of(args);
    let prepared = prepared(args, &runtimes).map(|preload| (runtimes.command(&args.command), preload));
    let (command, preload) = prepared.unwrap_or_else(|e| {
        // Whoever starts a service wants the service.
        message::warning(&format!("{e:#}; the program runs, and is not recorded"));
        (args.command.as_slice().into(), Preload::default())
    });
    let failure = child::become_program(&command, &preload);
    message::error(&failure.error);
    Ok(ExitCode::from(failure.exit_code))
}

/// What the program is started with.
fn prepared(args: &RecordArgs, runtimes: &Runtimes) -> Result<Preload> {
    let recorder = preload::place(preload::RECORDER)?;
    let first = Plan { drainer_pid: 0, ..plan(FIRST_MEAN_BYTES) };
    let base = always::base(args.session_dir.as_deref(), &first)?;
    make_room(&base);
    let mut preload = Preload::default();
    preload.libraries.push(preload::before_sanitizers(recorder));
    preload.variables.extend(variables(args, &base));
    preload.variables.extend(runtimes.variables());
    if !args.quiet {
        message::note("recorded by samples; windows are written by: heapscribe agent --all -o DIR");
    }
    Ok(preload)
}

fn make_room(base: &Base) {
    let removed = always::make_room(base.path(), LEFT_BYTES_MAX);
    if removed > 0 {
        message::warning(&format!(
            "no agent runs: what {} recorded has made room in {}",
            counted(removed as u64, "ended process"),
            base.path().display()
        ));
        message::hint("start one: heapscribe agent --all -o DIR");
    }
}
