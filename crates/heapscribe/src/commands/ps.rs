//! `heapscribe ps`: lists processes that are recorded or run with another heap, and their figures.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use heapscribe_wire::chunk::State;
use heapscribe_wire::head::Head;
use heapscribe_wire::mode::Mode;
use serde::Serialize;

use super::output;
use crate::cli::PsArgs;
use crate::live_estimate;
use crate::message;
use heapscribe_collect::KilledRetention;
use heapscribe_session::heap_statistics::{self, HeapStatistics};
use heapscribe_session::inspect::{self, SearchPath, SessionPath, SessionReader, Snapshot};
use heapscribe_session::monotonic_ns;
use heapscribe_units::{about, counted, duration, short_bytes};
use heapscribe_views::json::heap::Heap;

/// The mode of a process that only runs with another heap.
const NOT_RECORDED: &str = "not recorded";

/// A process, as JSON has it.
#[derive(Debug, Serialize)]
struct Row {
    pid: u32,
    alive: bool,
    exe: String,
    /// `null` when it is not recorded.
    session: Option<String>,
    created_mono_ns: u64,
    created_real_ns: u64,
    age_ns: u64,
    mode: &'static str,
    mean_bytes: Option<u64>,
    threads: u32,
    live_bytes: u64,
    live_blocks: u64,
    /// What is live where blocks were sampled; `null` when each was recorded. All other figures are of recorded
    /// blocks.
    live_estimate: Option<LiveEstimate>,
    allocated_bytes: u64,
    allocated_blocks: u64,
    freed_bytes: u64,
    freed_blocks: u64,
    waiting_bytes: u64,
    waiting_ns: u64,
    snapshots: usize,
    /// The heap that was put under it; `null` when that is not known.
    heap: Option<Heap>,
    #[serde(skip)]
    statistics: Option<HeapStatistics>,
}

/// An estimate of what is live, as JSON has it; of bytes with the range of 95 %.
#[derive(Clone, Copy, Debug, Serialize)]
struct LiveEstimate {
    bytes: u64,
    bytes_low: u64,
    bytes_high: u64,
    blocks: u64,
    samples: u64,
}

impl LiveEstimate {
    /// Of a process of which blocks were sampled.
    fn of(session: &SessionReader, head: &Head<'_>) -> Option<LiveEstimate> {
        if !live_estimate::has_samples(&session.definitions(0, head.defs_committed)) {
            return None;
        }
        let answer = live_estimate::answer(&Snapshot::take(session).ok()?).ok()?;
        let (live, _) = live_estimate::of(&answer)?;
        let [bytes, bytes_low, bytes_high, blocks] =
            [live.bytes.value, live.bytes.low, live.bytes.high, live.blocks.value].map(|n| n.round() as u64);
        Some(LiveEstimate { bytes, bytes_low, bytes_high, blocks, samples: live.samples })
    }
}

/// Runs the command.
pub(crate) fn run(args: &PsArgs) -> Result<ExitCode> {
    let places = inspect::places(args.session_dir.as_deref());
    heap_statistics::clean(&places);
    if args.clean {
        clean(&places);
    }
    let mut heaps = heap_statistics::all(&places);
    // Skips sessions that are removed in the meantime.
    let mut rows: Vec<Row> =
        inspect::all(&places).iter().filter_map(|found| row(found, &mut heaps).ok()).collect();
    rows.extend(heaps.into_iter().map(unrecorded));
    rows.sort_by_key(|row| (row.pid, row.created_mono_ns));
    let mut out = output::stdout(args.json);
    if args.json {
        serde_json::to_writer(&mut out, &rows)?;
        writeln!(out)?;
    } else {
        print(&mut out, &rows)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes what is there of processes that were killed.
fn clean(places: &SearchPath) {
    let none = KilledRetention { age: Duration::ZERO, bytes: Some(0) };
    let removed =
        places.directories().iter().map(|place| heapscribe_collect::clean(place, &none)).sum::<usize>();
    message::note(&format!("removed {} of killed processes", counted(removed as u64, "session")));
}

/// A recorded process; removes its heap from `heaps`.
fn row(found: &SessionPath, heaps: &mut Vec<HeapStatistics>) -> Result<Row> {
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
    let alive = session.living_pid().is_some();
    let of = |statistics: &HeapStatistics| {
        (statistics.pid, statistics.pid_namespace) == (head.pid, head.pid_namespace)
    };
    let statistics = heaps.iter().position(of).filter(|_| alive).map(|n| heaps.remove(n));
    Ok(Row {
        pid: head.pid,
        alive,
        exe: String::from_utf8_lossy(head.exe).into_owned(),
        session: Some(found.directory.display().to_string()),
        created_mono_ns: head.created_mono_ns,
        created_real_ns: head.created_real_ns,
        age_ns: now.saturating_sub(head.created_mono_ns),
        mode,
        mean_bytes,
        threads: head.threads,
        live_bytes: allocated_bytes.saturating_sub(freed_bytes),
        live_blocks: allocated_blocks.saturating_sub(freed_blocks),
        live_estimate: LiveEstimate::of(&session, &head),
        allocated_bytes,
        allocated_blocks,
        freed_bytes,
        freed_blocks,
        waiting_bytes: sealed.iter().map(|chunk| u64::from(chunk.committed)).sum(),
        waiting_ns: sealed.iter().map(|chunk| now.saturating_sub(chunk.end_mono_ns)).max().unwrap_or(0),
        snapshots: inspect::list_named(&found.directory).len(),
        heap: statistics.as_ref().map(Heap::from),
        statistics,
    })
}

/// A process that only runs with another heap.
fn unrecorded(statistics: HeapStatistics) -> Row {
    Row {
        pid: statistics.pid,
        alive: true,
        exe: statistics.exe.clone(),
        session: None,
        created_mono_ns: statistics.created_mono_ns,
        created_real_ns: 0,
        age_ns: monotonic_ns().saturating_sub(statistics.created_mono_ns),
        mode: NOT_RECORDED,
        mean_bytes: None,
        threads: 0,
        live_bytes: statistics.update.counts.used_bytes,
        live_blocks: statistics.update.counts.blocks,
        live_estimate: None,
        allocated_bytes: 0,
        allocated_blocks: 0,
        freed_bytes: 0,
        freed_blocks: 0,
        waiting_bytes: 0,
        waiting_ns: 0,
        snapshots: 0,
        heap: Some(Heap::from(&statistics)),
        statistics: Some(statistics),
    }
}

fn print(out: &mut dyn Write, rows: &[Row]) -> io::Result<()> {
    let has_heaps = rows.iter().any(|row| row.statistics.is_some());
    let heap =
        if has_heaps { heap_cells(["HEAP", "USED", "POOL", "LARGEST", "FAILED"]) } else { String::new() };
    writeln!(
        out,
        "{:>8}  {:<5}  {:>8}  {:<16}  {:>9}  {:>9}  {:>9}  {:>8}  {heap}PROGRAM",
        "PID", "STATE", "AGE", "MODE", "LIVE", "ALLOCATED", "FREED", "LAG"
    )?;
    for row in rows {
        let mode = row.mean_bytes.map_or_else(
            || row.mode.to_owned(),
            |mean| format!("{}:{}", row.mode, short_bytes(mean).replace(' ', "")),
        );
        let of_record = |text: String| if row.session.is_some() { text } else { "-".to_owned() };
        let lag = if row.waiting_bytes == 0 { "none".to_owned() } else { duration(row.waiting_ns) };
        writeln!(
            out,
            "{:>8}  {:<5}  {:>8}  {:<16}  {:>9}  {:>9}  {:>9}  {:>8}  {}{}",
            row.pid,
            if row.alive { "alive" } else { "ended" },
            duration(row.age_ns),
            mode,
            of_record(live(row)),
            of_record(at_least(row, row.allocated_bytes)),
            of_record(at_least(row, row.freed_bytes)),
            of_record(lag),
            if has_heaps { of_heap(row.statistics.as_ref()) } else { String::new() },
            row.exe
        )?;
    }
    Ok(())
}

/// What is live; an estimate where blocks were sampled.
fn live(row: &Row) -> String {
    row.live_estimate.map_or_else(
        || short_bytes(row.live_bytes),
        |estimate| format!("{}{}", about(), short_bytes(estimate.bytes)),
    )
}

/// A sum over recorded blocks: where some were sampled there were more.
fn at_least(row: &Row, bytes: u64) -> String {
    let sign = if about() == "~" { ">" } else { "≥" };
    format!("{}{}", row.live_estimate.map_or("", |_| sign), short_bytes(bytes))
}

fn heap_cells([name, used, pool, largest, failed]: [&str; 5]) -> String {
    format!("{name:<8}  {used:>9}  {pool:>9}  {largest:>9}  {failed:>6}  ")
}

/// Statistics of a heap: pool, largest free block, failed requests.
fn of_heap(statistics: Option<&HeapStatistics>) -> String {
    let Some(statistics) = statistics else { return heap_cells(["-"; 5]) };
    let name: String = statistics.name.chars().take(8).collect();
    let c = &statistics.update.counts;
    if statistics.update.mono_ns == 0 {
        return heap_cells([&name, "-", "-", "-", "-"]);
    }
    let [used, pool, largest] = [c.used_bytes, c.pool_bytes, c.largest_free_bytes].map(short_bytes);
    heap_cells([&name, &used, &pool, &largest, &c.failures.to_string()])
}
