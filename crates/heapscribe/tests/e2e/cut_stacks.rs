//! Stacks that are cut are counted one by one: in what a program leaves behind when it exits, in one that runs, and in
//! one that was killed, also after `record` was.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, str};

use crate::support::{Place, Run, Started, heapscribe, lives, until};
use heapscribe_wire::head::Head;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const TURNS: u64 = 8;
const THREADS: u64 = 4;
const CALLS: u64 = 250;
/// How often one pass of the program is cut, by reason.
const OF_ONE: [(&str, u64); 4] =
    [("stack_bounds", CALLS), ("stack_depth", 1), ("stack_no_info", 3 * CALLS), ("stack_rule", 2 * CALLS)];

fn run<'a>(place: &'a Place, and_then: &[&str]) -> Run<'a> {
    let program = place.compile("cut_stacks.c");
    let sessions = place.path("sessions");
    fs::create_dir(&sessions).unwrap();
    let run = Run::new(place, program).args([TURNS, THREADS, CALLS].map(|n| n.to_string())).args(and_then);
    run.options(["--log-chunks", "1024", "--keep-killed", "0", "--session-dir"]).options([&sessions])
}

/// What each process of a trace dropped, the first begun first.
fn dropped(trace: &Path) -> Vec<Vec<(String, u64)>> {
    let output = heapscribe().args(["dump", "--json"]).arg(trace).output().unwrap();
    let lines =
        str::from_utf8(&output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap());
    let mut ends: Vec<Value> = lines.filter(|line: &Value| line["type"] == "process_end").collect();
    ends.sort_by_key(|end| end["process"].as_u64());
    let of_end = |end: &Value| {
        let all =
            end["dropped"].as_object().unwrap().iter().map(|(name, n)| (name.clone(), n.as_u64().unwrap()));
        let mut some: Vec<_> = all.filter(|(_, n)| *n > 0).collect();
        some.sort();
        some
    };
    ends.iter().map(of_end).collect()
}

fn of_passes(passes: u64) -> Vec<(String, u64)> {
    OF_ONE.iter().map(|(name, n)| ((*name).to_owned(), n * passes)).collect()
}

/// The program at rest after all of its calls, its child collected: what was started, and its pid.
fn at_rest(run: &Run<'_>, sessions: &Path) -> (Started, u32) {
    let started = run.start();
    until("all calls are made", || started.said().0.contains("ready"));
    until("the child's session is collected", || directories_in(&only_in(sessions)).len() == 1);
    let output = heapscribe().args(["ps", "--json", "--session-dir"]).arg(sessions).output().unwrap();
    let processes: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    (started, processes[0]["pid"].as_u64().unwrap() as u32)
}

/// A snapshot of a process, or of all in a directory.
fn snapshot(place: &Place, arguments: impl FnOnce(&mut Command)) -> PathBuf {
    let path = place.path("live.hst");
    let mut command = heapscribe();
    command.args(["snapshot", "--force", "-o"]).arg(&path);
    arguments(&mut command);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    path
}

fn directories_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

/// The only directory in one.
fn only_in(directory: &Path) -> PathBuf {
    let [only] = directories_in(directory).try_into().expect("one directory");
    only
}

#[test]
fn of_a_program_that_exits() {
    let place = Place::new();
    let run = run(&place, &[]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(dropped(&run.trace()), [of_passes(TURNS * THREADS), of_passes(1)]);
}

#[test]
fn of_a_program_that_runs_and_is_killed() {
    let (place, sessions) = (Place::new(), "sessions");
    let run = run(&place, &["wait"]);
    let (started, pid) = at_rest(&run, &place.path(sessions));
    let all = of_passes(TURNS * THREADS);
    // Threads have taken over the records of others, whose counts are still there.
    let head = fs::read(only_in(&only_in(&place.path(sessions))).join("head")).unwrap();
    let head = Head::parse(&head).unwrap();
    assert!(head.records < head.threads, "{} records, {} threads", head.records, head.threads);
    let live = snapshot(&place, |command| {
        command.arg(pid.to_string()).arg("--session-dir").arg(place.path(sessions));
    });
    assert_eq!(dropped(&live), std::slice::from_ref(&all));
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
    let ended = started.wait();
    assert_eq!(ended.code, 128 + 9, "{}", ended.stderr);
    assert_eq!(dropped(&run.trace()), [all, of_passes(1)]);
}

#[test]
fn of_a_program_that_is_killed_after_its_record() {
    let (place, sessions) = (Place::new(), "sessions");
    let run = run(&place, &["wait"]);
    let (mut started, pid) = at_rest(&run, &place.path(sessions));
    started.signal(Signal::KILL);
    started.child.wait().unwrap();
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
    until("the program's end", || !lives(pid));
    let left = only_in(&place.path(sessions));
    let live = snapshot(&place, |command| {
        command.arg(&left);
    });
    assert_eq!(dropped(&live), [of_passes(TURNS * THREADS)]);
    let output = heapscribe().arg("recover").arg(&left).arg("-o").arg(run.trace()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(dropped(&run.trace())[0], of_passes(TURNS * THREADS));
}
