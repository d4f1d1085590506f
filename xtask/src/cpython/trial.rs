//! A module of tests plain and under recording: what came of it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::explained::Explained;
use super::outcomes::{self, Ran};
use super::pythons::Python;
use super::recorded::Trace;
use super::table::{Row, Verdict};
use crate::programs::{End, MARK, end_survivors, run_within};

/// How long a module may take plain, and under recording that and so many times as long as it took plain.
const LIMIT: Duration = Duration::from_secs(300);
const SLOWER: u32 = 10;
/// How often a module runs, each way, in which a test differs: what comes and goes by itself is found so.
const RUNS: usize = 3;
/// Differences that a row names.
const NAMED: usize = 6;
/// Slower than this is worth a word: so many times, and so much more.
const SLOW: (u32, Duration) = (10, Duration::from_secs(30));

/// A place where the modules of a Python run. It is removed in the end.
pub(super) struct Trial<'a> {
    python: &'a Python,
    place: PathBuf,
    heapscribe: &'a Path,
    has_objects: bool,
}

/// A run, and how long it took.
struct Timed {
    ran: Ran,
    took: Duration,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        python: &'a Python,
        place: PathBuf,
        heapscribe: &'a Path,
        has_objects: bool,
    ) -> Result<Trial<'a>, String> {
        fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        Ok(Trial { python, place, heapscribe, has_objects })
    }

    /// Runs a module plain and recorded, more often where these differ.
    pub(super) fn run(&self, module: &str, explained: &Explained) -> Row {
        let (mut plain, mut recorded, mut trace) = (Vec::new(), Vec::new(), Trace::default());
        let mut differences = Vec::new();
        for round in 0..RUNS {
            let (bare, under) = match self.both(module) {
                Ok(Some(both)) => both,
                Ok(None) => {
                    return unusable(module, &format!("does not end within {} s plain", LIMIT.as_secs()));
                }
                Err(e) => return unusable(module, &format!("it cannot be run: {e}")),
            };
            if round == 0 {
                trace = Trace::of(self.heapscribe, &self.trace());
            }
            plain.push(bare);
            recorded.push(under);
            differences = differing(&plain, &recorded);
            if differences.is_empty() {
                break;
            }
        }
        let (mut verdict, mut remarks) = judge(&differences, explained);
        if !trace.has_frames() {
            verdict = Verdict::Differs;
            remarks.push("no frames of Python were read".to_owned());
        }
        remarks.extend(unsteady(&plain, &recorded));
        remarks.extend(slow(&plain[0], &recorded[0]));
        let tests = plain.iter().map(|run| run.ran.tests.len()).max().unwrap_or(0);
        Row { module: module.to_owned(), verdict, tests, trace, remark: remarks.join("; ") }
    }

    /// Plain and recorded; `None` when it does not end plain.
    fn both(&self, module: &str) -> io::Result<Option<(Timed, Timed)>> {
        let plain = self.once(module, None, LIMIT)?;
        if plain.ran.end == End::TimedOut {
            return Ok(None);
        }
        let limit = LIMIT + SLOWER * plain.took;
        let recorded = self.once(module, Some(&self.trace()), limit)?;
        Ok(Some((plain, recorded)))
    }

    fn trace(&self) -> PathBuf {
        self.place.join("trace.hst")
    }

    /// One run; with a trace it is recorded.
    fn once(&self, module: &str, trace: Option<&Path>, limit: Duration) -> io::Result<Timed> {
        let (work, xml) = (self.place.join("work"), self.place.join("tests.xml"));
        for old in [&work, &xml, &self.trace()] {
            let _ = fs::remove_dir_all(old).or_else(|_| fs::remove_file(old));
        }
        fs::create_dir_all(&work)?;
        // A job of a script ignores SIGINT: then tests of it wait, and take memory, without end.
        let mut command = Command::new("env");
        command.arg("--default-signal");
        if let Some(trace) = trace {
            command.arg(self.heapscribe).args(["record", "-q", "-o"]).arg(trace).arg("--");
        }
        command.arg(&self.python.program).args(["-m", "test", "--junit-xml"]).arg(&xml).arg(module);
        self.set_up(&mut command, &work);
        let name = if trace.is_some() { "recorded" } else { "plain" };
        let log = File::create(self.place.join(name))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let begin = Instant::now();
        let end = run_within(&mut command, limit)?;
        let took = begin.elapsed();
        end_survivors(&self.place);
        let written = fs::read(&xml).unwrap_or_default();
        Ok(Timed { ran: Ran::read(end, &String::from_utf8_lossy(&written)), took })
    }

    /// The same small environment for both.
    fn set_up(&self, command: &mut Command, work: &Path) {
        command.env_clear().current_dir(work).env(MARK, &self.place);
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("HOME", work).env("TMPDIR", work).env("LC_ALL", "C.UTF-8").env("TERM", "dumb");
        if self.has_objects {
            command.env("PYTHONMALLOC", "malloc");
        }
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        end_survivors(&self.place);
        let _ = fs::remove_dir_all(&self.place);
    }
}

fn unusable(module: &str, why: &str) -> Row {
    let (module, remark) = (module.to_owned(), why.to_owned());
    Row { module, verdict: Verdict::Unusable, tests: 0, trace: Trace::default(), remark }
}

fn differing(plain: &[Timed], recorded: &[Timed]) -> Vec<(String, String)> {
    let of = |runs: &[Timed]| runs.iter().map(|run| run.ran.clone()).collect::<Vec<_>>();
    outcomes::differences(&of(plain), &of(recorded))
}

/// The verdict, and what there is to say of each difference.
fn judge(differences: &[(String, String)], explained: &Explained) -> (Verdict, Vec<String>) {
    // That it ends otherwise follows from a test.
    let has_tests = differences.iter().any(|(test, _)| test != outcomes::END);
    let differences: Vec<_> =
        differences.iter().filter(|(test, _)| !has_tests || test != outcomes::END).collect();
    let without: Vec<_> = differences.iter().filter(|(test, _)| explained.reason(test).is_none()).collect();
    let verdict = match (differences.is_empty(), without.is_empty()) {
        (true, _) => Verdict::Same,
        (false, true) => Verdict::Explained,
        (false, false) => Verdict::Differs,
    };
    let mut remarks: Vec<String> = differences
        .iter()
        .take(NAMED)
        .map(|(test, what)| match explained.reason(test) {
            Some(reason) => format!("{test}: {what}. Why: {reason}"),
            None => format!("{test}: {what}"),
        })
        .collect();
    if differences.len() > NAMED {
        remarks.push(format!("and {} more", differences.len() - NAMED));
    }
    (verdict, remarks)
}

/// What differed at first, and no longer when it ran again.
fn unsteady(plain: &[Timed], recorded: &[Timed]) -> Option<String> {
    let first = differing(&plain[..1], &recorded[..1]);
    let last = differing(plain, recorded);
    let came_and_went: Vec<_> =
        first.iter().filter(|(test, _)| !last.iter().any(|(other, _)| other == test)).collect();
    let names: Vec<String> =
        came_and_went.iter().take(NAMED).map(|(test, what)| format!("{test} ({what})")).collect();
    let runs = plain.len();
    (!names.is_empty()).then(|| format!("not in all of {runs} runs: {}", names.join(", ")))
}

fn slow(plain: &Timed, recorded: &Timed) -> Option<String> {
    let seconds = |timed: &Timed| format!("{:.1} s", timed.took.as_secs_f64());
    let is_slow = recorded.took > SLOW.0 * plain.took + SLOW.1;
    is_slow.then(|| format!("slow: {}, plain {}", seconds(recorded), seconds(plain)))
}
