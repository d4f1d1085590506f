//! `heapscribe record`: runs a program with the recorder loaded into it and all it starts, and drains
//! them into one trace while they run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use anyhow::{Context, Result};
use heapscribe_formats::model::{RealTimeRules, SessionInfo};
use heapscribe_wire::mode::Mode;
use heapscribe_wire::plan::{Plan, WhenFull};
use heapscribe_wire::real_time_rules::RULES_BYTES_MAX;

use super::record_variables::{Runtimes, variables};
use super::{output, record_always, symbols};
use crate::cli::{self, ClockChoice, RecordArgs, TraceFormat};
use crate::launch::diagnose::{self, Unseen};
use crate::launch::heap::{self, HeapChoice};
use crate::launch::preload::{self, Preload};
use crate::launch::{child, signals::Signals};
use crate::message;
use crate::record_summary;
use heapscribe_collect::{Drain, FilesPlan, Origin, Summary};
use heapscribe_convert::memtrace::to::sample_rate;
use heapscribe_convert::ring;
use heapscribe_convert::{Input, Salvage};
use heapscribe_diagnostics::Problem;
use heapscribe_session::{Alive, Base, clock_kind, monotonic_ns, own_namespace, real_time_rules};
use heapscribe_spawn::Child;
use heapscribe_symbols::NamedStacks;
use heapscribe_units::counted;
use heapscribe_views::text::real_time;

/// Runs the command.
pub(crate) fn run(args: &RecordArgs) -> Result<ExitCode> {
    if args.always {
        return record_always::run(args);
    }
    if args.retention.limits().is_some() && args.format == TraceFormat::Memtrace {
        let what = "--ring and --last cannot write the memtrace format, which needs the whole recording";
        return Err(Problem::new(what.to_owned(), "remove --format, or remove --ring and --last").into());
    }
    cli::reject_conflicts(&args.real_time, mode(args), args.format == TraceFormat::Memtrace)?;
    reject_memtrace(args)?;
    output::reject_existing(&trace_path(args), args.force)?;
    let mut preload = preload_of_heap(args)?;
    let recorder = preload::place(preload::RECORDER)?;
    // Another heap cannot be put under a sanitizer's.
    let is_alone = preload.libraries.is_empty();
    preload.libraries.insert(0, if is_alone { preload::before_sanitizers(recorder) } else { recorder });
    let runtimes = Runtimes::of(args);
    preload.variables.extend(runtimes.variables());
    let base = Base::create(args.session_dir.as_deref())?;
    let outcome = record(args, &runtimes, preload, &base);
    if !matches!(outcome, Ok(Recorded::Over(_))) {
        clean(args, &base);
    }
    base.remove();
    outcome.map(|(Recorded::NotStarted(code) | Recorded::Over(code))| code)
}

/// How a recording ended, and with which exit code.
enum Recorded {
    /// Its program could not be started.
    NotStarted(ExitCode),
    /// It is over, and what takes too much room of killed processes was removed.
    Over(ExitCode),
}

/// Removes sessions of killed processes that are too old or take too much room.
fn clean(args: &RecordArgs, base: &Base) {
    if let Some(parent) = base.path().parent() {
        heapscribe_collect::clean(parent, &args.retention.killed());
    }
}

/// Rejects what a trace of memtrace has no place for.
fn reject_memtrace(args: &RecordArgs) -> Result<(), Problem> {
    let given = [(args.track_mmap, "mappings"), (args.retention.memory_map().is_some(), "a memory map")];
    match given.into_iter().find(|(is_given, _)| *is_given && args.format == TraceFormat::Memtrace) {
        None => Ok(()),
        Some((_, name)) => {
            let what = format!("the memtrace format cannot store {name}");
            Err(Problem::new(what, "remove --format, and use `heapscribe convert` later"))
        }
    }
}

/// What to preload for the heap behind the recorder.
fn preload_of_heap(args: &RecordArgs) -> Result<Preload> {
    match &args.heap.heap {
        None | Some(HeapChoice::System) => Ok(Preload::default()),
        Some(choice) => {
            heap::reject_sanitizer(&args.command[0])?;
            heap::preload(choice, &args.heap.options())
        }
    }
}

fn record(args: &RecordArgs, runtimes: &Runtimes, mut preload: Preload, base: &Base) -> Result<Recorded> {
    preload.variables.extend(variables(args, base));
    let Some(rules) = real_time_rules::to_bytes(&args.real_time.rules()) else {
        let what = format!("the real-time rules are longer than {RULES_BYTES_MAX} bytes");
        return Err(Problem::new(what, "use patterns in --rt-thread, or name fewer sections").into());
    };
    if args.clock == ClockChoice::Coarse {
        base.write_sole_process()?;
    }
    base.write_plan(&plan(args), &rules)?;
    let output = trace_path(args);
    let mut signals = Signals::take()?;
    // It says when the program was started, which it is about to be.
    let mut drain = drain_into(args, base, &output)?;
    drain.snapshot_at(args.retention.snapshots(), &output)?;
    if let Some(plan) = args.retention.memory_map() {
        drain.memory_map(&plan);
    }
    drain.only(args.only_program.clone());
    if !args.retention.killed().age.is_zero() {
        drain.keep_killed();
    }
    let started_mono_ns = monotonic_ns();
    let mut child = match child::start(&runtimes.command(&args.command), &preload) {
        Ok(child) => child,
        Err(failure) => {
            let _ = std::fs::remove_file(&output);
            if args.retention.limits().is_some() {
                let _ = std::fs::remove_dir_all(ring::directory_of(&output));
            }
            message::error(&failure.error);
            return Ok(Recorded::NotStarted(ExitCode::from(failure.exit_code)));
        }
    };
    drain.watch(child.id());
    raise_descriptor_limit();
    note_start(args, runtimes, &output);
    let status = follow(args, &mut drain, &mut child, &mut signals)?;
    let living = drain.living();
    // A program that is sampled or off at first may well have no recorded call.
    let is_expected = mode(args) == Mode::Full && args.only_program.is_empty();
    let is_unseen = is_expected && status.is_some() && !drain.watched_has_calls();
    let unseen = is_unseen.then(|| Unseen::new(&args.command[0], child.id()));
    if let Some(program) = unseen.as_ref().and_then(|unseen| unseen.unrecorded(started_mono_ns)) {
        drain.note_unrecorded(program);
    }
    let (mut summary, failure) = drain.finish(status.map(child::exit_status));
    remove_killed(args, base, &mut summary);
    embed_symbols(args, &output, &mut summary);
    print_summary(args, &output, &summary, failure.is_some());
    if summary.stopped > 0 {
        stopped(&output);
    } else if !args.real_time.rules().is_empty() {
        message::hint(&format!("find the calls that broke the rules: heapscribe check {}", output.display()));
    }
    diagnose::warn(unseen, child.id(), &summary, args.quiet);
    if living > 0 {
        message::note(&format!(
            "still running: {}; what was recorded stays in {}",
            counted(living as u64, "recorded process"),
            base.path().display()
        ));
        message::hint(&format!(
            "write their trace later: heapscribe recover {} -o {}",
            base.path().display(),
            if args.retention.limits().is_some() { "REST.hst".into() } else { output.to_string_lossy() }
        ));
    }
    Ok(Recorded::Over(status.map_or(ExitCode::SUCCESS, child::exit_code)))
}

/// Removes sessions of killed processes that take too much room, before the summary says where they are.
fn remove_killed(args: &RecordArgs, base: &Base, summary: &mut Summary) {
    clean(args, base);
    let count = |summary: &Summary| summary.killed_sessions.len() + summary.unseen_sessions.len();
    let before = count(summary);
    for sessions in [&mut summary.killed_sessions, &mut summary.unseen_sessions] {
        sessions.retain(|session| session.exists());
    }
    let removed = before - count(summary);
    if removed > 0 && !args.quiet {
        let of = counted(removed as u64, "killed process");
        message::note(&format!(
            "the live blocks of {of} took more room than --keep-killed-bytes allows, and are gone"
        ));
    }
}

fn drain_into(args: &RecordArgs, base: &Base, output: &Path) -> Result<Drain> {
    let info = session_info(&args.command, args.real_time.rules());
    Origin::leave(base.path(), output, &info);
    match args.format {
        TraceFormat::Native => {
            let (chunks, ring) = (Some(args.log_chunks), args.retention.limits());
            Drain::new(base.path(), output, args.level, chunks, &info, ring)
        }
        TraceFormat::Memtrace => {
            let plan = FilesPlan {
                output: output.to_owned(),
                host: info.host,
                sample_rate: sample_rate(args.sample),
                debug_dir: PathBuf::from(cli::DEBUG_DIR),
            };
            Drain::memtrace(base.path(), plan, args.log_chunks)
        }
    }
}

fn plan(args: &RecordArgs) -> Plan {
    Plan {
        drainer_pid: std::process::id(),
        pid_namespace: own_namespace(),
        clock: clock_kind(),
        when_full: match args.when_full {
            cli::WhenFull::Wait => WhenFull::Wait,
            cli::WhenFull::Drop => WhenFull::Drop,
        },
        log_chunks: args.log_chunks,
        spill_limit_bytes: args.spill_limit,
        verify_every: verify_every(),
        mode: mode(args),
        seed: args.sample_seed.unwrap_or(0),
        is_timed: args.real_time.latency,
        stops: args.real_time.rt_abort,
        reads_interpreters: !args.no_interpreter_frames,
        tracks_mappings: args.track_mmap,
        reads_clock_seldom: args.clock == ClockChoice::Coarse,
        ..Plan::default()
    }
}

/// What is recorded at first.
fn mode(args: &RecordArgs) -> Mode {
    match (args.sample, args.mode) {
        (Some(mean_bytes), _) => Mode::Sampled { mean_bytes },
        (None, cli::StartMode::Full) => Mode::Full,
        (None, cli::StartMode::Off) => Mode::Off,
    }
}

/// How often a captured stack is verified: for developers of heapscribe, so no option.
fn verify_every() -> u32 {
    let value = std::env::var("HEAPSCRIBE_VERIFY_STACKS");
    value.ok().and_then(|value| value.parse().ok()).unwrap_or(0)
}

fn trace_path(args: &RecordArgs) -> PathBuf {
    args.output.clone().unwrap_or_else(|| {
        let program = std::path::Path::new(&args.command[0]).file_name().unwrap_or_default();
        let ending = if args.format == TraceFormat::Memtrace { "ctf" } else { "hst" };
        PathBuf::from(format!("heapscribe.{}.{}.{ending}", program.to_string_lossy(), std::process::id()))
    })
}

/// A recording that begins now.
pub(super) fn session_info(command: &[OsString], rules: RealTimeRules) -> SessionInfo {
    use std::os::unix::ffi::OsStrExt;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    SessionInfo {
        command: command.iter().map(|a| a.as_bytes().to_vec()).collect(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_real_ns: u64::try_from(now.as_nanos()).unwrap_or(0),
        started_mono_ns: monotonic_ns(),
        rules,
    }
}

/// Each recorded process takes five descriptors here. The program was started before, with its own limit.
pub(super) fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Drains until the program and all that it started have ended, or the user stops waiting for the rest.
/// The program's status; `None` when it was still running.
fn follow(
    args: &RecordArgs,
    drain: &mut Drain,
    child: &mut Child,
    signals: &mut Signals,
) -> Result<Option<ExitStatus>> {
    let alive = Alive::find(child.id(), u64::MAX);
    let mut status = None;
    loop {
        // Checked before the pass, so that the pass drains everything that the process wrote before its end.
        let ended = match status {
            None => child.try_wait().context("cannot wait for the program")?,
            ended => ended,
        };
        let has_just_ended = status.is_none() && ended.is_some();
        if let Some(status) = ended.filter(|_| has_just_ended) {
            drain.has_ended(child.id(), child::exit_status(status));
        }
        drain.pass();
        status = ended;
        if status.is_some() && (args.no_wait || drain.is_over()) {
            return Ok(status);
        }
        if has_just_ended && !args.quiet {
            message::note("the program has exited; still recording the processes that it started");
            message::hint("press Ctrl-C to stop waiting, or use --no-wait next time");
        }
        let stop = signals.pass_on(status.is_none().then(|| child.id()));
        if status.is_some() && stop {
            return Ok(status);
        }
        drain.wait(alive.as_ref().filter(|_| status.is_none()));
    }
}

/// Says where the recording goes, and what was set for it.
fn note_start(args: &RecordArgs, runtimes: &Runtimes, output: &Path) {
    if args.quiet {
        return;
    }
    runtimes.in_words().for_each(|set| message::note(&set));
    message::note(&format!("recording into {}", output.display()));
}

/// Puts names into the trace, when they are wanted; one without them is a trace, too.
fn embed_symbols(args: &RecordArgs, output: &Path, summary: &mut Summary) {
    // Those of memtrace have names anyway.
    if !args.embed_symbols || args.format == TraceFormat::Memtrace {
        return;
    }
    match symbols::embed(output, &crate::progress::resolver(Path::new(cli::DEBUG_DIR))) {
        Ok(trace_bytes) => summary.trace_bytes = trace_bytes,
        Err(e) => message::error(&e),
    }
}

/// Prints the calls that broke a real-time rule and stopped their programs.
fn stopped(output: &Path) {
    let opened = Input::open(output).and_then(|input| input.into_trace(Salvage::default())).map(|trace| {
        let answer = trace.analyze();
        let resolver = crate::progress::resolver(&PathBuf::from(cli::DEBUG_DIR));
        let names = NamedStacks::look_up(&answer.tree, real_time::wanted(&answer), &resolver);
        for broken in &answer.broken {
            message::failure(&real_time::explained(&answer, broken, &names));
        }
    });
    if let Err(e) = opened {
        message::error(
            &e.context("a real-time rule was broken, but the trace does not show which call broke it"),
        );
    }
    message::hint(&format!("see also: heapscribe report {0}; heapscribe check {0}", output.display()));
}

fn print_summary(args: &RecordArgs, trace: &std::path::Path, summary: &Summary, is_cut: bool) {
    if !args.quiet {
        message::block(&record_summary::summary(
            summary,
            trace,
            is_cut,
            mode(args) == Mode::Full,
            args.verbose,
        ));
    }
}
