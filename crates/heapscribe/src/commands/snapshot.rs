//! `heapscribe snapshot`: writes the live blocks of a process to a file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::named_snapshot::{self, Named};
use super::resolver::resolver;
use super::{output, partial};
use crate::cli::{SnapshotArgs, SnapshotFormat};
use crate::exit;
use crate::live_estimate;
use crate::message;
use heapscribe_convert::Opened;
use heapscribe_convert::file_source::source;
use heapscribe_convert::native::named_table;
use heapscribe_convert::pprof;
use heapscribe_diagnostics::{Problem, hint_of};
use heapscribe_formats::Trace;
use heapscribe_session::inspect::{self, Contents, Exactness, Saved, SessionReader, Snapshot, SnapshotPages};
use heapscribe_session::process_end;
use heapscribe_units::{counted, duration, short_bytes};
use heapscribe_views::text::estimate;
use heapscribe_views::text::live::live_bounds;
use heapscribe_wire::head::LossReason;
use heapscribe_wire::mode::Mode;

/// Runs the command.
pub(crate) fn run(args: &SnapshotArgs) -> Result<ExitCode> {
    if let Some(output) = &args.output {
        output::reject_existing(output, args.force)?;
    }
    if named_table::is_trace(&args.process) {
        return of_trace(args);
    }
    let place = inspect::places(args.session_dir.as_deref());
    let session = inspect::one(&args.process, &place)?.open()?;
    let contents = args.contents.as_deref().map(|dir| Contents::begin(dir, &session)).transpose()?;
    let snapshot = match &args.download {
        None if args.pages => with_pages(&session, args)?,
        None => Snapshot::take(&session).map_err(with_hint)?.at_its_end(&session),
        Some(wanted) => named(&session, wanted)?,
    };
    let snapshot = snapshot.with_jit_names(&session);
    let read = contents.map(|contents| contents.write(&snapshot)).transpose()?;
    let pid = session.living_pid().unwrap_or(snapshot.head.get().pid);
    let output = args.output.clone().unwrap_or_else(|| default_path(&snapshot, pid));
    let saved = write(&snapshot, args, &output)?;
    print_summary(&snapshot, pid, &saved, &output);
    saved.problems.iter().for_each(|problem| message::failure(problem));
    if let (Some(read), Some(dir)) = (read, &args.contents) {
        message::note(&format!(
            "wrote the contents of the blocks: {} in {}",
            counted(read.written, "file"),
            dir.display()
        ));
        if read.skipped > 0 {
            let what = counted(read.skipped, "block");
            message::warning(&format!(
                "cannot read the contents of {what} (freed in the meantime, or never used)"
            ));
        }
    }
    Ok(if saved.problems.is_empty() { ExitCode::SUCCESS } else { exit::partial() })
}

/// What there is to do about a table that cannot be read: the events of the process are still there.
fn with_hint(e: anyhow::Error) -> anyhow::Error {
    match hint_of(&e) {
        Some(_) => e,
        None => Problem::new(
            format!("{e:#}"),
            "`heapscribe recover` writes what its events say, without the table",
        )
        .into(),
    }
}

/// Takes one with the pages of the process, which no other format can hold.
fn with_pages(session: &SessionReader, args: &SnapshotArgs) -> Result<Snapshot> {
    if args.output.as_deref().is_some_and(is_pprof) || args.format == Some(SnapshotFormat::Pprof) {
        let hint = "write a native snapshot: -o FILE.hst";
        return Err(Problem::new("a profile cannot hold pages", hint).into());
    }
    let mut reader = Snapshot::map_reader(session)?;
    Snapshot::take_with_pages(session, &mut reader)
}

fn is_pprof(output: &Path) -> bool {
    let name = output.to_string_lossy();
    name.ends_with(".pb") || name.ends_with(".pb.gz")
}

/// Writes it in the chosen format, or the one of its extension.
fn write(snapshot: &Snapshot, args: &SnapshotArgs, output: &Path) -> Result<Saved> {
    let not_written = || format!("cannot write {}", output.display());
    let create = || File::create(output).map(BufWriter::new).with_context(not_written);
    let name = output.to_string_lossy();
    let is_packed = name.ends_with(".gz");
    match args.format.unwrap_or(if is_pprof(output) { SnapshotFormat::Pprof } else { SnapshotFormat::Native })
    {
        SnapshotFormat::Native => inspect::save(snapshot, &mut create()?).with_context(not_written),
        SnapshotFormat::Pprof => {
            let (trace, saved) = Opened::of_snapshot(snapshot)?;
            let resolver = resolver(&args.symbols, &[])?;
            let profile = pprof::profile(&trace, args.by_block, &resolver)?;
            let mut file = create()?;
            if is_packed {
                let mut packed = GzEncoder::new(file, Compression::default());
                packed.write_all(&profile).with_context(not_written)?;
                file = packed.finish().with_context(not_written)?;
            } else {
                file.write_all(&profile).with_context(not_written)?;
            }
            file.flush().with_context(not_written)?;
            Ok(saved)
        }
    }
}

/// The snapshot that the program has taken under this name or number.
fn named(session: &SessionReader, wanted: &str) -> Result<Snapshot> {
    let all = inspect::list_named(session.directory());
    let pid = session.head()?.get().pid;
    let candidates = all.iter().map(|file| Named {
        pid,
        id: file.id,
        name: &file.name,
        taken_real_ns: file.moment.real_ns,
    });
    let candidates: Vec<_> = candidates.collect();
    let place = session.directory().display().to_string();
    let at =
        named_snapshot::choose(&candidates, wanted, &place, "list the snapshots with `heapscribe list`")?;
    all[at].read(session)
}

/// Writes a snapshot that a program took of itself, out of its trace.
fn of_trace(args: &SnapshotArgs) -> Result<ExitCode> {
    let path = Path::new(&args.process);
    let shown = path.display();
    let source = source(path)?;
    let trace = Trace::open(&source).with_context(|| format!("cannot read {shown}"))?;
    let hint = format!("list the snapshots with `heapscribe list {shown}`");
    let Some(wanted) = &args.download else {
        let what = format!("{shown} is a trace; choose one of its snapshots with --download NAME");
        return Err(Problem::new(what, hint).into());
    };
    let all: Vec<_> = named_table::named(&trace).collect();
    let candidates = all.iter().map(|(process, table)| Named {
        pid: process.info.as_ref().map_or(0, |info| info.pid),
        id: table.number,
        name: &table.name,
        taken_real_ns: table.real_ns,
    });
    let candidates: Vec<_> = candidates.collect();
    let found = all[named_snapshot::choose(&candidates, wanted, &shown.to_string(), &hint)?];
    let info = found.0.info.clone().unwrap_or_default();
    let program = info.exe.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let default = format!("heapscribe.{}.{}", String::from_utf8_lossy(program), info.pid);
    let output = args.output.clone().unwrap_or_else(|| output::free_name(&default));
    if output.to_string_lossy().contains(".pb") || args.format == Some(SnapshotFormat::Pprof) {
        let what = "a snapshot of a trace cannot be written as a profile";
        return Err(Problem::new(what, "write it as FILE.hst, for `report`, `flame` and `diff`").into());
    }
    let out = File::create(&output).with_context(|| format!("cannot write {}", output.display()))?;
    let written = named_table::write(&source, &trace, found, out)?;
    let blocks = counted(written.blocks, "block");
    message::note(&format!("process {}: {blocks} live, written to {}", info.pid, output.display()));
    Ok(partial::exit_code(path, &written.problems, true))
}

fn default_path(snapshot: &Snapshot, pid: u32) -> PathBuf {
    let head = snapshot.head.get();
    let exe = String::from_utf8_lossy(head.exe).into_owned();
    let program = Path::new(&exe).file_name().unwrap_or_default().to_string_lossy();
    output::free_name(&format!("heapscribe.{program}.{pid}"))
}

fn print_summary(snapshot: &Snapshot, pid: u32, saved: &Saved, output: &Path) {
    let end = process_end(&snapshot.head.get(), &snapshot.records);
    let was_off = end.modes.iter().any(|change| change.mode == Mode::Off);
    let is_lost = end.drops[LossReason::LiveTable as usize] > 0 || LossReason::lost_events(&end.drops) > 0;
    let lacks_blocks = is_lost || was_off;
    let sampled = (lacks_blocks || live_estimate::has_samples(&snapshot.definitions))
        .then(|| live_estimate::answer(snapshot).ok())
        .flatten();
    let sure = sampled.as_ref().and_then(live_estimate::of);
    let estimate = sure.as_ref().map(|(estimate, _)| estimate);
    let blocks = estimate::blocks(saved.blocks, "block", estimate);
    let bytes = estimate::bytes(saved.bytes, estimate);
    let bounds = sampled.as_ref().and_then(live_bounds);
    let live = if bounds.is_some() { " of those that are" } else { "" };
    message::note(&format!("process {pid}: {blocks}{live} live, {bytes}, written to {}", output.display()));
    bounds.iter().for_each(|text| message::warning(text));
    if let Some((estimate, exact_blocks)) = sure {
        let samples = counted(estimate.samples, "sample");
        message::note(&format!(
            "estimated from {samples}; {} besides were recorded without sampling",
            counted(exact_blocks, "block")
        ));
    }
    if let Some(pages) = &snapshot.pages {
        note_pages(pages);
    }
    match &snapshot.exactness {
        Exactness::Instant if snapshot.name.is_none() => {
            let held = duration(snapshot.held.as_nanos() as u64);
            message::note(&format!("consistent: all of one instant; allocations were paused for {held}"));
        }
        Exactness::Instant => message::note("consistent: all of one instant"),
        Exactness::Ended => message::note("the process has ended; the snapshot shows its last state"),
        Exactness::Inexact(why) => {
            message::warning(&format!("not consistent, because the blocks are not of one instant: {why}"))
        }
    }
}

/// How much is resident, and how far the pages may be from the blocks.
fn note_pages(pages: &SnapshotPages) {
    let resident = pages.map.mappings.iter().map(|mapping| mapping.resident_bytes).sum();
    let took = duration(pages.map.end_mono_ns.saturating_sub(pages.map.begin_mono_ns));
    let meanwhile = match (pages.allocated_bytes, pages.freed_bytes) {
        (0, 0) => "nothing was allocated or freed meanwhile".to_owned(),
        (allocated, freed) => {
            let (allocated, freed) = (short_bytes(allocated), short_bytes(freed));
            format!("meanwhile {allocated} were allocated and {freed} freed")
        }
    };
    message::note(&format!("pages: {} resident, read in {took}; {meanwhile}", short_bytes(resident)));
}
