//! `heapscribe run`: runs a program with another heap, and collects the heap's statistics.

use std::fs::{self, File};
use std::process::{ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use heapscribe_wire::heap::HEAPS_VARIABLE;

use crate::cli::RunArgs;
use crate::launch::heap::{self, HeapChoice};
use crate::launch::{child, signals::Signals};
use crate::message;
use heapscribe_session::inspect;
use heapscribe_spawn::Child;
use heapscribe_views::json;
use heapscribe_views::text;

use heapscribe_session::Base;
use heapscribe_session::heap_statistics::{self, EndedHeaps};

/// Runs the command.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    heap::reject_sanitizer(&args.command[0])?;
    let choice = args.heap.heap.as_ref().unwrap_or(&HeapChoice::Tlsf);
    let mut preload = heap::preload(choice, &args.heap.options())?;
    let into = args
        .stats_json
        .as_ref()
        .map(|path| File::create(path).with_context(|| format!("cannot write {}", path.display())));
    let into = into.transpose()?;
    let base = listen(args, args.stats || into.is_some())?;
    preload.variables.extend(base.as_ref().map(|base| (HEAPS_VARIABLE, base.path().into())));
    let mut signals = Signals::take()?;
    let started = child::start(&args.command, &preload);
    let mut program = match started {
        Ok(program) => program,
        Err(failure) => {
            base.iter().for_each(|base| base.remove());
            message::error(&failure.error);
            return Ok(ExitCode::from(failure.exit_code));
        }
    };
    let mut ended = EndedHeaps::default();
    let status = follow(&mut program, &mut signals, base.as_ref(), &mut ended)?;
    if let Some(base) = &base {
        ended.gather(base.path());
        // When nobody is left who would write there; else `ps` does it.
        let _ = fs::remove_dir(base.path());
    }
    if args.stats {
        message::block(&text::heap::ended(&ended));
    }
    if let Some(into) = into {
        serde_json::to_writer(into, &json::heap::Run::from(&ended)).context("cannot write the statistics")?;
    }
    Ok(child::exit_code(status))
}

/// The directory in which heaps publish their statistics. A program runs without it too, so failing to create
/// it is an error only if statistics are `wanted`.
fn listen(args: &RunArgs, wanted: bool) -> Result<Option<Base>> {
    heap_statistics::clean(&inspect::places(args.session_dir.as_deref()));
    match Base::create(args.session_dir.as_deref()) {
        Ok(base) => Ok(Some(base)),
        Err(e) if wanted => Err(e),
        Err(_) => Ok(None),
    }
}

/// Forwards signals until the program has ended, and gathers the statistics of ended processes now and then.
fn follow(
    program: &mut Child,
    signals: &mut Signals,
    base: Option<&Base>,
    ended: &mut EndedHeaps,
) -> Result<ExitStatus> {
    const LOOK_AGAIN: Duration = Duration::from_millis(10);
    const GATHER_AGAIN: Duration = Duration::from_secs(1);
    let mut gathered = Instant::now();
    loop {
        if let Some(status) = program.try_wait().context("cannot wait for the program")? {
            return Ok(status);
        }
        signals.pass_on(Some(program.id()));
        if let Some(base) = base.filter(|_| gathered.elapsed() >= GATHER_AGAIN) {
            ended.gather(base.path());
            gathered = Instant::now();
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
