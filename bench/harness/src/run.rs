//! One run of one program under one tool, and what it took.
//!
//! ```text
//!   rusage ALL -- TOOL -- rusage PROGRAM -- CMD
//! ```
//! Two stop watches (`bench/programs/rusage.c`): the inner one takes the time of the program and its children
//! alone, the outer one that of everything which the tool started besides. Both are static programs, so that
//! what the tool preloads is not loaded into them.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::places::Places;
use crate::tool::Tool;

/// What is to be run.
#[derive(Clone, Default, Debug)]
pub(crate) struct Job {
    /// Program and arguments.
    pub(crate) command: Vec<OsString>,
    /// Where it runs; in the scratch directory when none is named.
    pub(crate) directory: Option<PathBuf>,
    /// Added to its environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Files that it writes, from the scratch directory, which are compared besides its standard output.
    pub(crate) outputs: Vec<String>,
    /// The run is stopped after so many seconds.
    pub(crate) timeout_s: u64,
}

/// What a stop watch has measured.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Cost {
    pub(crate) cpu_s: f64,
    pub(crate) wall_s: f64,
    pub(crate) peak_rss_kib: u64,
    pub(crate) exit_code: i32,
}

/// A run.
#[derive(Clone, Default, Debug)]
pub(crate) struct Run {
    /// The program and its children, without the tool.
    pub(crate) program: Cost,
    /// Everything.
    pub(crate) all: Cost,
    /// Tells whether two outputs are the same.
    pub(crate) output: u64,
    /// What the program wrote to standard output and standard error.
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Bytes of the files that the tool wrote.
    pub(crate) trace_bytes: u64,
    /// Calls of the heap, when the tool counts them.
    pub(crate) calls: Option<u64>,
    /// Why there is nothing of it, when it was stopped or could not be started.
    pub(crate) failure: Option<String>,
}

/// At most so much of a program's output is stored.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Runs it once. What the tool leaves lies in the second directory until the next run.
pub(crate) fn run(job: &Job, tool: Tool, places: &Places) -> Result<(Run, PathBuf)> {
    let (work, traces, notes) = (
        places.scratch.emptied("work")?,
        places.scratch.emptied("traces")?,
        places.scratch.emptied("notes")?,
    );
    let around = tool.around(places, &traces);
    let watch = places.program("rusage");
    let note = |name: &str| notes.join(name).into_os_string();
    let mut command = Command::new(&watch);
    command.args([note("all"), note("tool.out"), note("tool.err"), "--".into()]).args(&around.before);
    command.arg(&watch).args([note("program"), note("out"), note("err"), "--".into()]).args(&job.command);
    command
        .envs(around.environment)
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(job.directory.as_ref().unwrap_or(&work))
        .stdin(Stdio::null())
        .process_group(0);
    let failure = wait(command, job.timeout_s)?;
    let outputs = job.outputs.iter().map(|name| work.join(name));
    let mut run = Run {
        program: cost(&notes.join("program")).unwrap_or_default(),
        all: cost(&notes.join("all")).unwrap_or_default(),
        output: hash([notes.join("out")].into_iter().chain(outputs)),
        stdout: text(&notes.join("out")),
        stderr: text(&notes.join("err")),
        trace_bytes: if tool.writes_traces() { bytes_below(&traces) } else { 0 },
        calls: (tool == Tool::Count).then(|| counted(&traces)),
        failure,
    };
    if run.failure.is_none() && cost(&notes.join("program")).is_none() {
        run.failure = Some(format!("it was not run: {}", last_line(&text(&notes.join("tool.err")))));
    } else if run.failure.is_none() && run.all.exit_code != run.program.exit_code {
        let errors = text(&notes.join("tool.err"));
        run.failure = Some(format!("the tool ended with {}: {}", run.all.exit_code, last_line(&errors)));
    }
    Ok((run, traces))
}

/// Waits for the end. Why it failed, if the harness had to stop it.
fn wait(mut command: Command, timeout_s: u64) -> Result<Option<String>> {
    let mut child = command.spawn().context("the stop watch can not be started")?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait()));
    if let Ok(status) = end.recv_timeout(Duration::from_secs(timeout_s)) {
        status.context("the stop watch can not be waited for")?;
        return Ok(None);
    }
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = end.recv();
    Ok(Some(format!("stopped after {timeout_s} s")))
}

/// Reads what a stop watch has written.
pub(crate) fn cost(path: &Path) -> Option<Cost> {
    parse_cost(&fs::read_to_string(path).ok()?)
}

fn parse_cost(line: &str) -> Option<Cost> {
    let mut words = line.split_whitespace();
    let mut seconds = || words.next()?.parse::<f64>().ok();
    let (user, system, wall_s) = (seconds()?, seconds()?, seconds()?);
    let peak_rss_kib = words.next()?.parse().ok()?;
    Some(Cost { cpu_s: user + system, wall_s, peak_rss_kib, exit_code: words.next()?.parse().ok()? })
}

fn hash(files: impl Iterator<Item = PathBuf>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for file in files {
        // A file that is not there differs from an empty one.
        let bytes = fs::read(&file);
        hasher.write_u8(u8::from(bytes.is_ok()));
        hasher.write(&bytes.unwrap_or_default());
    }
    hasher.finish()
}

fn text(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT_BYTES_MAX)]).into_owned()
}

/// The last line that says something.
pub(crate) fn last_line(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("(nothing said)")
}

fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(|meta| meta.is_file())
        .map(|meta| meta.len())
        .sum()
}

/// Calls in the files of `bench/programs/count.c`: all words of all lines.
fn counted(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| fs::read(entry.path()).ok());
    files
        .map(|file| {
            file.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().unwrap_or_default())).sum::<u64>()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_watch_is_read() {
        let cost = Cost { cpu_s: 1.75, wall_s: 2.0, peak_rss_kib: 300, exit_code: 137 };
        assert_eq!(parse_cost("1.500000 0.250000 2.000000 300 137\n"), Some(cost));
        for wrong in ["", "1 2", "1 2 3 4", "a 2 3 4 5"] {
            assert_eq!(parse_cost(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_last_line_is_one_that_says_something() {
        assert_eq!(last_line("a\nb\n\n"), "b");
        assert_eq!(last_line(""), "(nothing said)");
    }
}
