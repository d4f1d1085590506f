//! `heapscribe ps`: which processes are recorded, alive or dead, and what they have done.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_wire::chunk::State;
use heapscribe_wire::mode::Mode;
use serde::Serialize;

use crate::cli::PsArgs;
use crate::drain::monotonic_ns;
use crate::live::{self, Found};
use crate::text::number::{duration, short_bytes};

/// A recorded process, as JSON has it.
#[derive(Debug, Serialize)]
struct Row {
    pid: u32,
    alive: bool,
    exe: String,
    session: String,
    created_mono_ns: u64,
    created_real_ns: u64,
    age_ns: u64,
    mode: &'static str,
    mean_bytes: Option<u64>,
    threads: u32,
    live_bytes: u64,
    live_blocks: u64,
    allocated_bytes: u64,
    allocated_blocks: u64,
    freed_bytes: u64,
    freed_blocks: u64,
    waiting_bytes: u64,
    waiting_ns: u64,
    snapshots: usize,
}

/// Runs the command.
pub(crate) fn run(args: &PsArgs) -> Result<ExitCode> {
    let found = live::all(&live::places(args.session_dir.as_deref()));
    // A session that goes while it is looked at is none.
    let rows: Vec<Row> = found.iter().filter_map(|found| row(found).ok()).collect();
    let mut out = anstream::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, &rows)?;
        writeln!(out)?;
    } else {
        print(&mut out, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(found: &Found) -> Result<Row> {
    let session = found.open()?;
    let copy = session.head()?;
    let head = copy.get();
    let records = session.records(&head);
    let sum = |of: fn(&heapscribe_wire::operation::Record) -> u64| {
        records.iter().map(of).fold(0, u64::wrapping_add)
    };
    let (allocated_bytes, freed_bytes) = (sum(|r| r.allocated_bytes), sum(|r| r.freed_bytes));
    let (allocated_blocks, freed_blocks) = (sum(|r| r.allocated_blocks), sum(|r| r.freed_blocks));
    let now = monotonic_ns();
    let sealed: Vec<_> =
        session.chunks(&head).into_iter().filter(|chunk| chunk.state == State::Sealed as u32).collect();
    let (mode, mean_bytes) = match head.mode {
        Mode::Off => ("off", None),
        Mode::Full => ("full", None),
        Mode::Sampled { mean_bytes } => ("sampled", Some(mean_bytes)),
    };
    Ok(Row {
        pid: head.pid,
        alive: session.living_pid().is_some(),
        exe: String::from_utf8_lossy(head.exe).into_owned(),
        session: found.directory.display().to_string(),
        created_mono_ns: head.created_mono_ns,
        created_real_ns: head.created_real_ns,
        age_ns: now.saturating_sub(head.created_mono_ns),
        mode,
        mean_bytes,
        threads: head.threads,
        live_bytes: allocated_bytes.saturating_sub(freed_bytes),
        live_blocks: allocated_blocks.saturating_sub(freed_blocks),
        allocated_bytes,
        allocated_blocks,
        freed_bytes,
        freed_blocks,
        waiting_bytes: sealed.iter().map(|chunk| u64::from(chunk.committed)).sum(),
        waiting_ns: sealed.iter().map(|chunk| now.saturating_sub(chunk.end_mono_ns)).max().unwrap_or(0),
        snapshots: live::list_named(&found.directory).len(),
    })
}

fn print(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    writeln!(
        out,
        "{:>8}  {:<5}  {:>8}  {:<16}  {:>9}  {:>9}  {:>9}  {:>8}  PROGRAM",
        "PID", "STATE", "AGE", "MODE", "LIVE", "ALLOCATED", "FREED", "LAG"
    )?;
    for row in rows {
        let mode = row.mean_bytes.map_or_else(
            || row.mode.to_owned(),
            |mean| format!("{}:{}", row.mode, short_bytes(mean).replace(' ', "")),
        );
        writeln!(
            out,
            "{:>8}  {:<5}  {:>8}  {:<16}  {:>9}  {:>9}  {:>9}  {:>8}  {}",
            row.pid,
            if row.alive { "alive" } else { "ended" },
            duration(row.age_ns),
            mode,
            short_bytes(row.live_bytes),
            short_bytes(row.allocated_bytes),
            short_bytes(row.freed_bytes),
            if row.waiting_bytes == 0 { "none".to_owned() } else { duration(row.waiting_ns) },
            row.exe
        )?;
    }
    Ok(())
}
