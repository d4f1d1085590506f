//! Runs one heap in a child process: the operations are its standard input, the measurements its output. With a
//! library, the child checks that `malloc` is the library's.
//!
//! The child starts before the command line is parsed, so that the heap is almost unused when it is measured.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use heapscribe_replay::heaps::{self, Config, PageOptions, TlsfHeap};
use heapscribe_replay::{
    Footprint, FootprintObserver, Heap, Latency, LatencyObserver, Observer, Outcome, Program, Touch,
    Unobserved, run, run_in_threads,
};
use heapscribe_wire::plan::{SESSION_VARIABLE, TRACK_MMAP_VARIABLE};
use serde::{Deserialize, Serialize};

use super::prepare::Prepared;
use super::subject::Subject;
use super::trim::Trim;

/// The first word of its command line, which no command has.
const WORD: &str = "a-heap-of-its-own";

/// What to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Look {
    Nothing,
    Time,
    Memory,
}

/// What a child is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) heap: Subject,
    pub(crate) look: Look,
    pub(crate) touch: Touch,
    /// Of the pool heap: its pool, and the first one that is added; 0 for none.
    pub(crate) pool_bytes: u64,
    pub(crate) grow_bytes: u64,
    pub(crate) slots: u64,
    pub(crate) moments: u64,
    /// Threads that make the calls, as the operations name them; 0 for this one, whatever they name.
    pub(crate) threads: u64,
    /// When memory is trimmed.
    pub(crate) trim: Trim,
    /// Variables of the environment.
    pub(crate) environment: Vec<(String, String)>,
}

/// What changes the system's heap: of these only what a task asks for.
const VARIABLES: [&str; 6] = [
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_MMAP_MAX_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TOP_PAD_",
    "MALLOC_TRIM_THRESHOLD_",
];

/// What a child has measured.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) outcome: Outcome,
    pub(crate) footprint: Option<Footprint>,
    pub(crate) latency: Option<Latency>,
    /// Pools of the pool heap after the last call, and their bytes; 0 of others.
    pub(crate) pools: u64,
    pub(crate) pool_bytes: u64,
}

/// Runs a task in a child process.
pub(crate) fn measure(task: &Task, prepared: &Prepared) -> Result<Measurement> {
    let program = std::env::current_exe().context("cannot find the heapscribe program")?;
    let mut command = Command::new(program);
    command.arg(WORD).arg(serde_json::to_string(task)?);
    command.env_remove("LD_PRELOAD").env_remove(SESSION_VARIABLE).env_remove(TRACK_MMAP_VARIABLE);
    if task.threads > 0 {
        for name in VARIABLES {
            command.env_remove(name);
        }
    }
    command.envs(task.environment.iter().map(|(name, value)| (name, value)));
    if let Subject::Library(path) = &task.heap {
        command.env("LD_PRELOAD", path);
    }
    command.stdin(prepared.file.try_clone().context("cannot duplicate a file descriptor")?);
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    let output = output.context("cannot start the heapscribe program again")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if let Some(signal) = output.status.signal() {
        bail!("signal {signal} killed the process that replayed it {stderr}");
    }
    if !output.status.success() {
        bail!("{}", stderr.trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| format!("the replay printed no result {stderr}"))
}

/// Runs the task of the command line, if this process is such a child.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != WORD {
        return None;
    }
    let found = words.next().context("the task is missing").and_then(|task| {
        let task = task.to_str().context("the task is not valid UTF-8")?;
        work(&serde_json::from_str(task)?)
    });
    match found.and_then(|found| Ok(serde_json::to_string(&found)?)) {
        Ok(text) => {
            println!("{text}");
            Some(ExitCode::SUCCESS)
        }
        Err(e) => {
            eprintln!("{e:#}");
            Some(ExitCode::FAILURE)
        }
    }
}

static TLSF: TlsfHeap = TlsfHeap::new(Config::DEFAULT);

fn work(task: &Task) -> Result<Measurement> {
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().context("the operations are missing")?;
    let file = File::from(stdin);
    let program = Program::new(&file, task.slots);
    match &task.heap {
        Subject::Tlsf => {
            start_pool(task)?;
            let found = look(&TLSF, task, &program)?;
            let stats = Heap::stats(&TLSF);
            Ok(Measurement { pools: stats.pools, pool_bytes: stats.pool_bytes, ..found })
        }
        Subject::System => look(&heaps::behind_malloc(), task, &program),
        Subject::Library(path) => {
            check_loaded(path)?;
            look(&heaps::behind_malloc(), task, &program)
        }
    }
}

/// For latency the pool is mapped beforehand, as in a program; for memory its pages are mapped on first use, or
/// the whole pool would count.
fn start_pool(task: &Task) -> Result<()> {
    let size = |bytes: u64| usize::try_from(bytes).context("the pool is too large for this machine");
    let prefault = task.look != Look::Memory;
    let config = Config {
        pool_bytes: size(task.pool_bytes)?,
        grow_bytes: size(task.grow_bytes)?,
        pages: PageOptions { prefault, lock: false, huge_pages: false },
        ..Config::DEFAULT
    };
    TLSF.configure(config.with_default_caches());
    if prefault && !TLSF.start() {
        bail!("not enough memory for a pool of {}", heapscribe_units::bytes(task.pool_bytes));
    }
    Ok(())
}

fn look<H: Heap>(heap: &H, task: &Task, program: &Program<'_>) -> Result<Measurement> {
    fn replayed<H: Heap>(
        heap: &H,
        task: &Task,
        program: &Program<'_>,
        watch: &mut (impl Observer + Send),
    ) -> Result<Outcome> {
        let trim = |point| {
            if task.trim.is_due(point, task.moments) {
                heaps::trim();
            }
        };
        let outcome = match task.threads {
            0 => run(heap, program, task.touch, watch),
            n => run_in_threads(heap, program, task.touch, watch, (n as usize, &trim)),
        };
        outcome.context("cannot replay the operations")
    }
    match task.look {
        Look::Nothing => Ok(Measurement {
            outcome: replayed(heap, task, program, &mut Unobserved)?,
            ..Measurement::default()
        }),
        Look::Time => {
            let mut timing = LatencyObserver::new().context("cannot read from /proc")?;
            let outcome = replayed(heap, task, program, &mut timing)?;
            Ok(Measurement { outcome, latency: Some(timing.finish()), ..Measurement::default() })
        }
        Look::Memory => {
            let mut watching = FootprintObserver::new(task.moments).context("cannot read from /proc")?;
            let outcome = replayed(heap, task, program, &mut watching)?;
            Ok(Measurement { outcome, footprint: Some(watching.finish()), ..Measurement::default() })
        }
    }
}

/// The loader only warns if it cannot load a library; the system's heap would be measured then.
fn check_loaded(path: &Path) -> Result<()> {
    let maps = std::fs::read_to_string("/proc/self/maps").context("cannot read /proc/self/maps")?;
    let wanted = path.to_str().context("the path is not valid UTF-8")?;
    if !maps.lines().any(|line| line.ends_with(wanted)) {
        bail!("the loader did not load {wanted}");
    }
    match heaps::file_of_malloc(&maps) {
        Some(file) if file == wanted => Ok(()),
        other => Err(anyhow!(
            "{wanted} does not export malloc; {} is used instead",
            other.unwrap_or("another one")
        )),
    }
}
