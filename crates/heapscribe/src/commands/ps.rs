//! `heapscribe ps`: lists processes that are recorded or run with another heap, and their figures.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use heapscribe_analyze::answer::{Bounds, Range};
use heapscribe_wire::chunk::State;
use heapscribe_wire::head::{Head, LossReason};
use heapscribe_wire::mode::Mode;
use serde::Serialize;

use super::{output, unfinished};
use crate::cli::PsArgs;
use crate::live_estimate;
use crate::message;
use heapscribe_collect::KilledRetention;
use heapscribe_session::heap_statistics::{self, HeapStatistics};
use heapscribe_session::inspect::{self, SearchPath, SessionPath, SessionReader, Snapshot};
use heapscribe_session::{Alive, base_directory, monotonic_ns, process_end};
use heapscribe_units::{about, counted, duration, short_bytes};
use heapscribe_views::json::heap::Heap;
use heapscribe_views::json::parts::RangesJson;
use heapscribe_views::text;

/// The mode of a process that only runs with another heap.
const NOT_RECORDED: &str = "not recorded";

/// A process, as JSON has it.
#[derive(Serialize)]
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
    /// Blocks without a slot in the table of live blocks, whose frees are not known, and events that are in no figure.
    untracked_blocks: u64,
    lost_events: u64,
    /// Between what all that is live lies because of these; `null` where `live_*` is exact, or an estimate.
    live_bounds: Option<RangesJson>,
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
    /// The same bounds, and them in words.
    #[serde(skip)]
    bounds: Option<(Bounds, String)>,
}

/// An estimate of what is live, as JSON has it; of bytes with the range of 95 %.
#[derive(Clone, Copy, Debug, Serialize)]
struct LiveEstimate {
    bytes: u64,
    bytes_low: u64,
    /// `null` where recording was off for a time.
    bytes_high: Option<u64>,
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
        let [bytes, bytes_low, blocks] =
            [live.bytes.value, live.bytes.low, live.blocks.value].map(|n| n.round() as u64);
        let high = live.bytes.high;
        let bytes_high = high.is_finite().then(|| high.round() as u64);
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
        out.flush()?;
        for row in &rows {
            let bounds = row.bounds.iter();
            bounds.for_each(|(_, words)| message::warning(&format!("process {}: {words}", row.pid)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Removes what is there of processes that were killed.
fn clean(places: &SearchPath) {
    let none = KilledRetention { age: Duration::ZERO, bytes: Some(0) };
    let removed =
        places.directories().iter().map(|place| heapscribe_collect::clean(place, &none)).sum::<usize>();
    message::note(&format!("removed {} of killed processes", counted(removed as u64, "session")));
    let unwritten = unwritten(places);
    if let Some(first) = unwritten.first() {
        let [first, more] = [first.display().to_string(), (unwritten.len() - 1).to_string()];
        let others = if more == "0" { String::new() } else { format!(" and {more} more like it") };
        message::note(&format!(
            "kept {first}{others}: its `record` was killed before it had written everything"
        ));
        message::hint(&format!(
            "write it to a trace: heapscribe recover {first} -o ALL.hst; or remove that directory"
        ));
    }
}

/// Directories with events that are in no trace, and that nobody will write to one: all have ended.
fn unwritten(places: &SearchPath) -> Vec<PathBuf> {
    let bases = places.directories().iter().flat_map(|place| base_directory::bases(place));
    let left =
        bases.filter(|base| base_directory::has_sessions(base) && base_directory::check_owner(base).is_ok());
    let is_drained = |base: &Path| {
        let began = base_directory::sessions(base).map(|key| key.created_mono_ns).min().unwrap_or(0);
        unfinished::drainer(base, began).is_some()
    };
    let has_living =
        |base: &Path| base_directory::sessions(base).any(|key| Alive::of_session(base, key).is_some());
    left.filter(|base| !is_drained(base) && !has_living(base)).collect()
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
    let drops = process_end(&head, &records).drops;
    let is_touched = drops[LossReason::LiveTable as usize] > 0 || LossReason::lost_events(&drops) > 0;
    let bounds = is_touched.then(|| live_bounds(&session)).flatten();
    let now = monotonic_ns();
    let sealed: Vec<_> =
        session.chunks(&head).into_iter().filter(|chunk| chunk.state == State::Sealed as u32).collect();
    let (mode, mean_bytes) = match head.mode {
        Mode::Off => ("off", None),
        Mode::Full => ("full", None),
        Mode::Sampled { mean_bytes } => ("sampled", Some(mean_bytes)),
    };
    let living_pid = session.living_pid();
    let alive = living_pid.is_some();
    let of = |statistics: &HeapStatistics| {
        (statistics.pid, statistics.pid_namespace) == (head.pid, head.pid_namespace)
    };
    let statistics = heaps.iter().position(of).filter(|_| alive).map(|n| heaps.remove(n));
    Ok(Row {
        pid: living_pid.unwrap_or(head.pid),
        alive,
        exe: String::from_utf8_lossy(head.exe).into_owned(),
        session: Some(found.directory.display().to_string()),
        created_mono_ns: head.created_mono_ns,
        created_real_ns: head.created_real_ns,
        age_ns: (if alive { now } else { session.ended_ns(&head) }).saturating_sub(head.created_mono_ns),
        mode,
        mean_bytes,
        threads: head.threads,
        live_bytes: allocated_bytes.saturating_sub(freed_bytes),
        live_blocks: allocated_blocks.saturating_sub(freed_blocks),
        live_estimate: LiveEstimate::of(&session, &head),
        untracked_blocks: drops[LossReason::LiveTable as usize],
        lost_events: LossReason::lost_events(&drops),
        live_bounds: bounds.as_ref().map(|(bounds, _)| bounds.into()),
        allocated_bytes,
        allocated_blocks,
        freed_bytes,
        freed_blocks,
        waiting_bytes: sealed.iter().map(|chunk| u64::from(chunk.committed)).sum(),
        waiting_ns: sealed.iter().map(|chunk| now.saturating_sub(chunk.end_mono_ns)).max().unwrap_or(0),
        snapshots: inspect::list_named(&found.directory).len(),
        heap: statistics.as_ref().map(Heap::from),
        statistics,
        bounds,
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
        untracked_blocks: 0,
        lost_events: 0,
        live_bounds: None,
        allocated_bytes: 0,
        allocated_blocks: 0,
        freed_bytes: 0,
        freed_blocks: 0,
        waiting_bytes: 0,
        waiting_ns: 0,
        snapshots: 0,
        heap: Some(Heap::from(&statistics)),
        statistics: Some(statistics),
        bounds: None,
    }
}

/// Between what all lies that is live in a process, also in words.
fn live_bounds(session: &SessionReader) -> Option<(Bounds, String)> {
    let answer = live_estimate::answer(&Snapshot::take(session).ok()?).ok()?;
    Some((answer.bounds()?, text::live::live_bounds(&answer)?))
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
            of_record(freed(row)),
            of_record(lag),
            if has_heaps { of_heap(row.statistics.as_ref()) } else { String::new() },
            row.exe
        )?;
    }
    Ok(())
}

/// What is live; an estimate where blocks were sampled.
fn live(row: &Row) -> String {
    match (row.bounds.as_ref().map(|(bounds, _)| bounds.bytes), row.live_estimate) {
        (Some(Range { high: Some(high), .. }), _) => format!("{}{}", sign("≤", "<"), short_bytes(high)),
        (Some(Range { low, high: None }), _) => format!("{}{}", sign("≥", ">"), short_bytes(low)),
        (None, Some(estimate)) if estimate.bytes_high.is_none() => {
            format!("{}{}", sign("≥", ">"), short_bytes(estimate.bytes_low))
        }
        (None, Some(estimate)) => format!("{}{}", about(), short_bytes(estimate.bytes)),
        (None, None) => short_bytes(row.live_bytes),
    }
}

/// What was freed; more, where frees of blocks without a slot are not known.
fn freed(row: &Row) -> String {
    match row.live_estimate {
        None if row.bounds.is_some() => format!("{}{}", sign("≥", ">"), short_bytes(row.freed_bytes)),
        _ => at_least(row, row.freed_bytes),
    }
}

/// A sign, where it can be shown.
fn sign(sign: &'static str, ascii: &'static str) -> &'static str {
    if about() == "~" { ascii } else { sign }
}

/// A sum over recorded blocks: where some were sampled, or events lost, there were more.
fn at_least(row: &Row, bytes: u64) -> String {
    let is_part = row.live_estimate.is_some() || row.lost_events > 0;
    let sign = if is_part { sign("≥", ">") } else { "" };
    format!("{sign}{}", short_bytes(bytes))
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
