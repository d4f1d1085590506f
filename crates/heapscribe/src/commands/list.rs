//! `heapscribe list`: the snapshots that programs have taken of themselves.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;

use super::output;
use crate::cli::ListArgs;
use heapscribe_convert::native::named_table;
use heapscribe_convert::{Input, Salvage};
use heapscribe_formats::{LiveTable, Process};
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
    let rows: Vec<Row> = match &args.process {
        Some(file) if named_table::is_trace(file) || file.ends_with(".hst") => {
            rows_of_trace(Path::new(file))?
        }
        Some(wanted) => inspect::matching(wanted, &place)?.iter().flat_map(rows_of).collect(),
        None => inspect::all(&place).iter().flat_map(rows_of).collect(),
    };
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

/// The snapshots of processes that have ended, which their trace has.
fn rows_of_trace(path: &Path) -> Result<Vec<Row>> {
    let trace = Input::open(path)?.into_trace(Salvage::default())?;
    let row = |(process, table): (&Process, &LiveTable)| Row {
        pid: process.info.as_ref().map_or(0, |info| info.pid),
        id: table.number,
        name: table.name.clone(),
        taken_mono_ns: table.mono_ns,
        taken_real_ns: table.real_ns,
        session: path.display().to_string(),
    };
    Ok(named_table::named(&trace).map(row).collect())
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
