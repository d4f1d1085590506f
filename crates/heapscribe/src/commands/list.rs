//! `heapscribe list`: the snapshots that programs have taken of themselves.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;

use super::output;
use crate::cli::ListArgs;
use heapscribe_session::inspect::{self, NamedFile, SessionPath};
use heapscribe_units::date;

/// A named snapshot, as JSON has it.
#[derive(Serialize)]
struct Row {
    pid: u32,
    id: u32,
    name: String,
    taken_mono_ns: u64,
    taken_real_ns: u64,
    session: String,
}

/// Runs the command.
pub(crate) fn run(args: &ListArgs) -> Result<ExitCode> {
    let place = inspect::places(args.session_dir.as_deref());
    let sessions = match &args.process {
        Some(wanted) => inspect::matching(wanted, &place)?,
        None => inspect::all(&place),
    };
    let rows: Vec<Row> = sessions.iter().flat_map(rows_of).collect();
    let mut out = output::stdout(args.json);
    if args.json {
        serde_json::to_writer(&mut out, &rows)?;
        writeln!(out)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{:>5}  {:>8}  {:<23}  NAME", "ID", "PID", "TAKEN")?;
    for row in &rows {
        writeln!(out, "{:>5}  {:>8}  {:<23}  {}", row.id, row.pid, date(row.taken_real_ns), row.name)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn rows_of(found: &SessionPath) -> Vec<Row> {
    let row = |file: NamedFile| Row {
        pid: found.pid,
        id: file.id,
        name: file.name,
        taken_mono_ns: file.moment.mono_ns,
        taken_real_ns: file.moment.real_ns,
        session: found.directory.display().to_string(),
    };
    inspect::list_named(&found.directory).into_iter().map(row).collect()
}
