//! Selects the process to replay, and why its results may only be estimates.

use anyhow::Result;
use heapscribe_analyze::Recording;
use heapscribe_analyze::input::{self, Choice, History as _};
use heapscribe_formats::{Process, Stage};
use serde::Serialize;

use heapscribe_convert::Opened;
use heapscribe_diagnostics::Problem;
use heapscribe_symbols::lossy;
use heapscribe_units as units;
use heapscribe_views::losses::Missing;

/// Longest command line that is shown.
const NAME_CHARS: usize = 60;

/// A process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Chosen {
    /// Its pid; 0 when that is damaged.
    pub(crate) pid: u32,
    /// Its command line.
    pub(crate) command: String,
    /// Processes of the trace that allocated, too.
    pub(crate) others: usize,
    /// Why results are estimates; empty when they are exact.
    pub(crate) estimate: Vec<String>,
    /// Whether frees may be missing: the process may have needed less than what is replayed, else only more.
    #[serde(skip)]
    pub(crate) may_lack_frees: bool,
    #[serde(skip)]
    index: usize,
}

impl Chosen {
    /// The process of this pid or program, or the one whose heap was the largest.
    pub(crate) fn of(trace: &Opened, pid: Option<u32>, program: Option<&str>) -> Result<Chosen> {
        if trace.memtrace.is_some() {
            return Err(of_samples("a memtrace file contains only samples").into());
        }
        let with_events = |(at, process): &(usize, &Process)| {
            let mut chunks = trace.chunks().iter();
            chunks.any(|chunk| chunk.process == process.index).then_some(*at)
        };
        let all: Vec<usize> = trace.processes().iter().enumerate().filter_map(|p| with_events(&p)).collect();
        let programs = program.map(str::to_owned).into_iter().collect();
        let choice = Choice { pids: pid.into_iter().collect(), programs, ..Choice::default() };
        let wanted = input::Chosen::of(&Recording::new(trace), &choice).processes;
        let is_meant = |at: &&usize| wanted.iter().any(|(number, _)| number == *at);
        let meant: Vec<usize> = all.iter().filter(is_meant).copied().collect();
        let index = match meant[..] {
            [] => {
                let pid = pid.map(|pid| pid.to_string());
                return Err(nobody(trace, &all, program.or(pid.as_deref())).into());
            }
            [one] => one,
            _ => largest(trace, &meant),
        };
        let process = &trace.processes()[index];
        let info = process.info.clone().unwrap_or_default();
        let words: Vec<_> = info.command.iter().map(|word| lossy(word)).collect();
        let (estimate, may_lack_frees) = (doubts(trace, process), may_lack_frees(trace, process));
        let (command, others) = (words.join(" "), all.len() - 1);
        Ok(Chosen { pid: info.pid, command, others, estimate, may_lack_frees, index })
    }

    /// The same with what turned out when its events were read.
    pub(crate) fn doubt(&mut self, doubts: &[String], may_lack_frees: bool) {
        self.estimate.extend_from_slice(doubts);
        self.may_lack_frees |= may_lack_frees;
    }

    /// A figure of what its heap needs, with `at least` or `about` where the trace does not have everything.
    pub(crate) fn at_least(&self, figure: &str) -> String {
        match (self.estimate.is_empty(), self.may_lack_frees) {
            (true, _) => figure.to_owned(),
            (false, false) => format!("at least {figure}"),
            (false, true) => format!("about {figure}"),
        }
    }

    /// As it stands in the trace.
    pub(crate) fn process<'t>(&self, trace: &'t Opened) -> &'t Process {
        &trace.processes()[self.index]
    }

    /// `ls -l (pid 5)`. Scripts on a command line are long, and have line breaks.
    pub(crate) fn name(&self) -> String {
        let mut words: String = self.command.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = words.char_indices().nth(NAME_CHARS) {
            words.truncate(end);
            words.push_str(" ...");
        }
        format!("{words} (pid {})", self.pid)
    }

    /// How many other processes there are, and how to select them.
    pub(crate) fn about_others(&self) -> Option<String> {
        let n = units::count(self.others as u64);
        (self.others > 0).then(|| format!("Other processes that allocated: {n} (select one with --pid PID)."))
    }
}

fn pid_of(process: &Process) -> u32 {
    process.info.as_ref().map_or(0, |info| info.pid)
}

/// What it can be chosen by: `cc1 (17)`.
fn called(process: &Process) -> String {
    let exe = process.info.as_ref().map_or(&[][..], |info| &info.exe);
    let name = exe.rsplit(|byte| *byte == b'/').next().unwrap_or(exe);
    format!("{} ({})", String::from_utf8_lossy(name), pid_of(process))
}

/// The one with the highest peak.
fn largest(trace: &Opened, meant: &[usize]) -> usize {
    let answer = trace.analyze();
    let peak = |at: &usize| answer.processes.get(*at).map_or(0, |process| process.peak.bytes);
    // The first of equal ones.
    meant.iter().rev().copied().max_by_key(|at| peak(at)).unwrap_or_default()
}

fn nobody(trace: &Opened, all: &[usize], wanted: Option<&str>) -> Problem {
    match wanted {
        Some(wanted) => {
            let shown: Vec<_> = all.iter().take(20).map(|at| called(&trace.processes()[*at])).collect();
            let what = format!("process {wanted} is not in the trace, or made no calls");
            Problem::new(what, format!("choose one of: {}", shown.join(", ")))
        }
        None => match [Recording::new(trace).problems(), trace.problems.clone()].concat().first() {
            Some(why) => {
                Problem::new(format!("cannot read any call of the trace: {why}"), "record the program again")
            }
            None => Problem::new(
                "the trace contains no calls",
                "record the program with `heapscribe record`; a snapshot contains only live blocks",
            ),
        },
    }
}

/// Sampled calls cannot be replayed.
pub(crate) fn of_samples(why: &str) -> Problem {
    Problem::new(
        format!("cannot replay the calls: {why}"),
        "record every block: heapscribe record -o TRACE -- CMD, without --sample",
    )
}

/// What the trace is missing of a process.
fn doubts(trace: &Opened, process: &Process) -> Vec<String> {
    let mut doubts: Vec<String> = trace.problems().iter().map(ToString::to_string).collect();
    doubts.extend_from_slice(&trace.problems);
    if process.info.as_ref().is_some_and(|info| info.stage == Stage::Forked) {
        doubts.push("the process was forked, and blocks from its parent are not counted".to_owned());
    }
    if process.evicted.is_of_ring() {
        let events = units::counted(process.evicted.events, "event");
        doubts.push(format!("{events} were evicted from the ring, so the heap before is not known"));
    }
    match &process.end {
        None => doubts.push("the recording is incomplete".to_owned()),
        Some(_) => doubts.extend(Missing::of_process(process).causes()),
    }
    doubts
}

/// Whether frees of a process may be missing.
fn may_lack_frees(trace: &Opened, process: &Process) -> bool {
    let is_damaged = !trace.problems().is_empty() || !trace.problems.is_empty() || process.end.is_none();
    is_damaged || Missing::of_process(process).may_lack_frees()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(command: &str) -> Chosen {
        Chosen {
            pid: 5,
            command: command.to_owned(),
            others: 0,
            estimate: Vec::new(),
            may_lack_frees: false,
            index: 0,
        }
    }

    #[test]
    fn what_is_missing_leaves_figures_open() {
        let check = |estimate: &[&str], may_lack_frees, expected: &str| {
            let estimate = estimate.iter().map(|why| (*why).to_owned()).collect();
            let chosen = Chosen { estimate, may_lack_frees, ..chosen("ls") };
            assert_eq!(chosen.at_least("5 bytes"), expected);
        };
        check(&[], false, "5 bytes");
        check(&["recording was off for 5 s"], false, "at least 5 bytes");
        check(&["2 events are missing"], true, "about 5 bytes");
    }

    #[test]
    fn long_commands_are_cut() {
        let check = |command: &str, expected: &str| {
            assert_eq!(chosen(command).name(), expected);
        };
        check("ls -l", "ls -l (pid 5)");
        check("sh -c a\n  b", "sh -c a b (pid 5)");
        check(&"\u{e4}".repeat(61), &format!("{} ... (pid 5)", "\u{e4}".repeat(60)));
    }
}
