//! `heapscribe recover`: writes the trace of a recording whose `record` was killed, or of processes that outlived it:
//! what `record` had written, if anything, and what is in the sessions.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_formats::model::SessionInfo;
use heapscribe_formats::{Source, Trace};
use heapscribe_wire::mode::Mode;

use super::agent_sessions::drain_alone;
use super::output::{is_same, reject_existing};
use super::record::raise_descriptor_limit;
use crate::cli::RecoverArgs;
use crate::message;
use crate::record_summary;
use heapscribe_collect::{Drain, Origin, Summary};
use heapscribe_convert::file_source::{FileSource, source};
use heapscribe_convert::native::join;
use heapscribe_convert::ring;
use heapscribe_diagnostics::Problem;
use heapscribe_session::{Alive, always, control};
use heapscribe_session::{base_directory, real_time_rules};
use heapscribe_units as units;

/// Runs the command.
pub(crate) fn run(args: &RecoverArgs) -> Result<ExitCode> {
    if ring::is_ring(&args.dir) {
        return of_ring(args);
    }
    let is_there = args.dir.exists();
    if is_there {
        base_directory::check_owner(&args.dir)?;
    }
    let _alone = is_there.then(|| drain_alone(&args.dir)).transpose()?;
    if !is_there || !base_directory::has_sessions(&args.dir) {
        let dir = args.dir.display();
        let what =
            if is_there { format!("there is no session in {dir}") } else { format!("{dir} is not there") };
        return Err(Problem::new(
            what,
            "it may have been recovered already; `heapscribe ps` lists what is left",
        )
        .into());
    }
    // One that was left by an older version says nothing of itself.
    let origin = Origin::of(&args.dir).unwrap_or_else(|| Origin {
        info: SessionInfo { rules: real_time_rules::of_base(&args.dir), ..SessionInfo::default() },
        ..Origin::default()
    });
    let first = first_part(args, &origin)?;
    if first.is_none() {
        refuse_wrong_rest(args, &origin)?;
    }
    // What `record` had begun becomes the whole, when it has the same name.
    if !first.as_ref().is_some_and(|first| is_same(first, &args.output)) {
        reject_existing(&args.output, args.force)?;
    }
    let info = SessionInfo { version: env!("CARGO_PKG_VERSION").to_owned(), ..origin.info.clone() };
    let (living, mut is_whole) = written(args, &origin, first.as_deref(), &info)?;
    if let Some(before) = origin.trace.filter(|before| first.is_none() && !is_same(before, &args.output)) {
        is_whole = false;
        message::note(&format!(
            "these are the events that `record` had not written yet; those before, and their marks, are in {}",
            begun(&before)
        ));
    }
    if living > 0 {
        // Who recovers the rest later joins it with this trace.
        let chunks = Trace::open(source(&args.output)?)?.chunks().len();
        Origin::leave_recovered(&args.dir, &args.output, &info, chunks);
        let living = units::counted(living as u64, "process");
        message::note(&format!("still running: {living}; what was recorded stays in {}", args.dir.display()));
    } else {
        if !always::is_shared(&args.dir) {
            base_directory::remove_base(&args.dir);
        }
        let (dir, trace) = (args.dir.display(), args.output.display());
        if !args.dir.exists() {
            message::note(&format!("{dir} is removed: what it held is in {trace}"));
        }
    }
    Ok(if is_whole { ExitCode::SUCCESS } else { crate::exit::partial() })
}

/// Writes what is in the sessions, joined with what `record` had written if that is `first`, and removes the sessions then.
/// How many processes live, and whether all could be written.
fn written(
    args: &RecoverArgs,
    origin: &Origin,
    first: Option<&Path>,
    info: &SessionInfo,
) -> Result<(usize, bool)> {
    let is_full = control::first_mode(&args.dir).is_ok_and(|mode| mode == Mode::Full);
    let rest = if first.is_some() { with_suffix(&args.output, "rest") } else { args.output.clone() };
    let level = heapscribe_formats::native::write::DEFAULT_LEVEL;
    let mut drain = Drain::new(&args.dir, &rest, level, None, info, None)?;
    if let Some(before) = origin.trace.as_ref().filter(|_| first.is_none()) {
        drain.begins_late(held_elsewhere(&args.dir, before));
    }
    let is_running = running(&args.dir).is_some();
    raise_descriptor_limit();
    drain.keep_sessions();
    while drain.pass() {}
    let living = drain.living();
    let (summary, failure) = drain.finish(None);
    if let Some(failure) = &failure {
        if first.is_some() || !is_running {
            return Err(not_written(args, &rest, is_running, failure).into());
        }
        message::failure(failure);
        message::hint("the processes that live go on; what the trace lacks from here on is counted");
    }
    if let Some(before) = origin.trace.as_ref().filter(|_| first.is_none()) {
        message::note(&format!(
            "this takes the rest out of {}; it cannot be joined with {} any more",
            args.dir.display(),
            begun(before)
        ));
    }
    let mut is_whole = failure.is_none() && summary.lost_events() == 0;
    match first {
        Some(first) => {
            let joined = joined(args, first, &rest, &summary);
            is_whole &= joined.map_err(|e| not_written(args, &rest, is_running, &format!("{e:#}")))?;
        }
        None => {
            message::block(&record_summary::summary(&summary, &rest, failure.is_some(), is_full, true));
        }
    }
    if failure.is_none() {
        for key in &summary.written_sessions {
            base_directory::remove_session(&args.dir, *key);
        }
    }
    Ok((living, is_whole))
}

/// That a trace could not be written. What was written of it is removed where all is still in the sessions.
fn not_written(args: &RecoverArgs, rest: &Path, is_running: bool, why: &str) -> Problem {
    let dir = args.dir.display();
    let _ = std::fs::remove_file(with_suffix(&args.output, "joined")); // or it was not made
    if is_running {
        return Problem::new(why, format!("what was taken out of {dir} is in {}", rest.display()));
    }
    let _ = std::fs::remove_file(rest); // or it was not made
    let only = if args.rest_only { " --rest-only" } else { "" };
    Problem::new(
        why,
        format!(
            "all is still in {dir}; write it where there is room: heapscribe recover {dir}{only} -o TRACE"
        ),
    )
}

/// What of these sessions is in the trace that `record` had begun, or in the ring, or in the trace that was made of it.
fn held_elsewhere(dir: &Path, trace: &Path) -> ring::Held {
    let mut held = Origin::held(dir);
    let ring = ring::directory_of(trace);
    if ring::is_ring(&ring)
        && let Ok(of_ring) = ring::Held::of_ring(&ring)
    {
        held.merge(of_ring);
    }
    if let Ok(Ok(trace)) = source(trace).map(Trace::open) {
        held.merge(ring::Held::of_trace(&trace));
    }
    held
}

/// Refuses to write the rest alone where figures of it would be wrong, or the first part lost.
fn refuse_wrong_rest(args: &RecoverArgs, origin: &Origin) -> Result<()> {
    let Some(before) = &origin.trace else { return Ok(()) };
    let (dir, output) = (args.dir.display(), args.output.display());
    let problem = if is_same(before, &args.output) {
        let what = format!("{output} is what `record` had written, and would be replaced");
        Problem::new(what, "choose another name with -o")
    } else if let Some(pid) = running(&args.dir) {
        let what =
            format!("process {pid} is still running, and what it does next would be missing from the rest");
        let hint = format!("wait until it has ended, or see what is live with `heapscribe snapshot {pid}`");
        Problem::new(what, hint)
    } else if origin.recovered_chunks.is_some() {
        let before = before.display();
        let what = format!("a part of {dir} was recovered to {before}, and the rest has a gap without it");
        Problem::new(what, "pass that trace with --join TRACE")
    } else {
        return Ok(());
    };
    Err(problem.into())
}

/// The trace that `record` had begun; none when only the rest is wanted, or can be had.
fn first_part(args: &RecoverArgs, origin: &Origin) -> Result<Option<PathBuf>> {
    if args.rest_only {
        return Ok(None);
    }
    let Some(path) = args.join.as_ref().or(origin.trace.as_ref()) else { return Ok(None) };
    let shown = path.display();
    let ring = ring::directory_of(path);
    if ring.exists() {
        let what = format!("{shown} was not made yet of the ring that `record` has left, {}", ring.display());
        return Err(Problem::new(what, first_of_ring(args, origin, &ring, path)).into());
    }
    let hint = format!("pass it with --join TRACE if it was moved{}", or_alone(args, origin));
    if !path.exists() {
        let what = match origin.recovered_chunks {
            None => format!("the trace that `record` had begun, {shown}, is not there"),
            Some(_) => format!("the trace that was recovered before, {shown}, is not there"),
        };
        return Err(Problem::new(what, hint).into());
    }
    let is_of = |first: &SessionInfo| is_same_recording(first, &origin.info);
    match source(path).map(Trace::open) {
        Ok(Ok(first)) if lacks_beginning(&first) => {
            let dir = args.dir.display();
            let what =
                format!("{shown} lacks the first events of its recording, so {dir} cannot be joined with it");
            let hint = match running(&args.dir) {
                None => format!("write what is in {dir} to a trace of its own with --rest-only"),
                Some(pid) => {
                    format!("when process {pid} has ended, write what is in {dir} alone with --rest-only")
                }
            };
            Err(Problem::new(what, hint).into())
        }
        Ok(Ok(first)) if origin.recovered_chunks.is_some_and(|chunks| first.chunks().len() < chunks) => {
            let what = format!("{shown} lacks what was recovered of {} before", args.dir.display());
            Err(Problem::new(what, "pass the trace that was written then with --join TRACE").into())
        }
        Ok(Ok(first)) if first.session().is_some_and(is_of) => Ok(Some(path.clone())),
        Ok(Ok(_)) => {
            let what = format!("{shown} is a trace of another recording than {}", args.dir.display());
            Err(Problem::new(what, hint).into())
        }
        // Files of memtrace are whole by themselves.
        _ => Ok(None),
    }
}

/// A hint to make a trace of a ring first. The rest can be joined with that as long as the ring has all of it.
fn first_of_ring(args: &RecoverArgs, origin: &Origin, ring: &Path, trace: &Path) -> String {
    let first = format!("first run `heapscribe recover {} -o {}`", ring.display(), trace.display());
    if origin.recovered_chunks.is_some() || !ring::Past::read(ring).is_ok_and(|past| past.is_any()) {
        return first + or_alone(args, origin);
    }
    let dir = args.dir.display();
    let when = running(&args.dir).map_or_else(String::new, |pid| format!(", when process {pid} has ended,"));
    format!(
        "{first} and then{when} `heapscribe recover {dir} --rest-only -o REST.hst`: they cannot be joined, as the ring has evicted events"
    )
}

/// The rest of a hint: the rest of the recording can be written alone, when [`refuse_wrong_rest`] allows that.
fn or_alone(args: &RecoverArgs, origin: &Origin) -> &'static str {
    match (origin.recovered_chunks, running(&args.dir)) {
        (None, None) => ", or write the rest alone with --rest-only",
        (None, Some(_)) => ", or write the rest alone with --rest-only when all processes have ended",
        (Some(_), _) => "",
    }
}

/// Where what `record` had begun is: in a ring, as long as no trace was made of that, which may have any name.
fn begun(trace: &Path) -> String {
    let ring = ring::directory_of(trace);
    match [&ring, trace].into_iter().find(|path| path.exists()) {
        Some(path) => path.display().to_string(),
        None => format!("the trace that `record` had begun as {}", trace.display()),
    }
}

/// Whether a trace is what is left of a ring, or the rest of a recording.
fn lacks_beginning<S: Source>(trace: &Trace<S>) -> bool {
    !trace.evicted().is_empty() || trace.processes().iter().any(|process| !process.evicted.is_empty())
}

/// Joins what `record` had written with the rest; whether all of both could be read.
fn joined(args: &RecoverArgs, first: &Path, rest: &Path, summary: &Summary) -> Result<bool> {
    let new = with_suffix(&args.output, "joined");
    let written = || format!("cannot write {}", new.display());
    let (first_source, rest_source) = (source(first)?, source(rest)?);
    let before = calls(&first_source)?;
    let out = std::fs::File::create(&new).with_context(written)?;
    let joined = join::join(&first_source, &rest_source, out).with_context(written)?;
    std::fs::rename(&new, &args.output).with_context(written)?;
    let _ = std::fs::remove_file(rest);
    joined.problems.iter().for_each(|problem| message::warning(problem));
    let (all, trace) = (calls(&source(&args.output)?)?, args.output.display());
    message::block(&format!(
        "{}: {} that were in {}, {} more from the sessions\n{}\ntrace: {trace}, {}\nnext: heapscribe report {trace}",
        units::counted(all, "call"),
        units::count(before),
        first.display(),
        units::count(all.saturating_sub(before)),
        record_summary::dropped(summary),
        units::bytes(joined.bytes),
    ));
    Ok(joined.problems.is_empty())
}

/// Calls of the heap that a trace has.
fn calls(trace: &FileSource) -> Result<u64> {
    let trace = Trace::open(trace)?;
    Ok(trace.chunks().iter().map(|chunk| chunk.sums.heap_calls()).sum())
}

/// The same path with one more suffix.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{suffix}"));
    PathBuf::from(name)
}

/// Writes the trace that a killed `record --ring` did not write.
fn of_ring(args: &RecoverArgs) -> Result<ExitCode> {
    reject_existing(&args.output, args.force)?;
    let rest = sessions_of(&args.dir);
    if !rest.is_empty() {
        let held = ring::Held::of_ring(&args.dir)?;
        for dir in &rest {
            Origin::leave_held(dir, &held).with_context(|| format!("cannot write to {}", dir.display()))?;
        }
    }
    let gathered = ring::gather_into(&args.dir, &args.output, None)?;
    gathered.problems.iter().for_each(|problem| message::warning(problem));
    let trace = args.output.display();
    message::block(&format!(
        "trace: {trace}, {}\nnext: heapscribe report {trace}",
        units::bytes(gathered.bytes)
    ));
    for dir in &rest {
        let when = running(dir).map_or_else(String::new, |pid| format!(" when process {pid} has ended"));
        let dir = dir.display();
        message::note(&format!(
            "what `record` had not written is in {dir}; write it{when} with \
             `heapscribe recover {dir} --rest-only -o REST.hst`"
        ));
    }
    let is_whole = gathered.problems.is_empty() && rest.is_empty();
    Ok(if is_whole { ExitCode::SUCCESS } else { crate::exit::partial() })
}

/// A process of these sessions that lives: its pid here.
fn running(dir: &Path) -> Option<u32> {
    base_directory::sessions(dir).find_map(|key| Alive::of_session(dir, key)).map(|alive| alive.pid())
}

/// Whether two are of one recording; traces of several may have had the same path.
fn is_same_recording(one: &SessionInfo, other: &SessionInfo) -> bool {
    let of = |info: &SessionInfo| (info.started_mono_ns, info.host.clone(), info.command.clone());
    of(one) == of(other)
}

/// The directories with sessions of the recording that this ring is of, where `record` puts them.
fn sessions_of(ring: &Path) -> Vec<PathBuf> {
    let whole = std::path::absolute(ring).unwrap_or_else(|_| ring.to_owned());
    let info = ring::info_of(ring);
    let is_of_recording = |of: &SessionInfo| info.as_ref().is_none_or(|info| is_same_recording(info, of));
    let is_of = |base: &PathBuf| {
        let Some(Origin { info, trace: Some(trace), .. }) = Origin::of(base) else { return false };
        ring::directory_of(&trace) == whole && is_of_recording(&info) && base_directory::has_sessions(base)
    };
    let places = heapscribe_session::inspect::places(None);
    places.directories().iter().flat_map(|place| base_directory::bases(place)).filter(is_of).collect()
}
