//! After the end: the session of a process that was killed stays and can be looked into; those of processes
//! that exit, in whatever way, do not.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Counted, Place, Report, Run, heapscribe, is_root_or_skip, until};
use rustix::process::{Pid, Signal, kill_process};

/// Sessions that stayed below `parent`, after `record` has ended.
fn kept(parent: &Path) -> Vec<PathBuf> {
    let bases = fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path());
    bases.flat_map(|base| fs::read_dir(base).unwrap().map(|entry| entry.unwrap().path())).collect()
}

fn options(parent: &Path) -> [String; 2] {
    ["--session-dir".to_owned(), parent.to_str().unwrap().to_owned()]
}

fn json(args: &[&str], path: &Path) -> serde_json::Value {
    let output = heapscribe().args(args).arg(path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {said}"))
}

#[test]
fn what_was_live_in_a_killed_process_is_what_its_trace_says() {
    let (place, sessions) = (Place::new(), Place::new());
    let parent = sessions.path("");
    let program = place.compile("worker.c");
    let run = Run::new(&place, program).args(["-j", "3", "-n", "1000000000"]);
    let run = run.env("COUNTS", place.path("counts")).options(options(&parent));
    let started = run.start();
    until("the first calls", || Counted::read(&place.path("counts")).calls.all() > 10_000);
    let pid = Counted::read(&place.path("counts")).pid;
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
    let ended = started.wait();
    assert_eq!(ended.code, 128 + 9, "{}", ended.stderr);
    let stayed = kept(&parent);
    assert_eq!(stayed.len(), 1, "{stayed:?}");
    assert!(
        ended.stderr.contains(&format!("killed: the live blocks are in {}", stayed[0].display())),
        "{}",
        ended.stderr
    );

    let listed = json(&["ps", "--json", "--session-dir"], &parent);
    assert_eq!(
        (listed[0]["pid"].as_u64(), listed[0]["alive"].as_bool()),
        (Some(u64::from(pid)), Some(false))
    );
    let file = place.path("dead.hst");
    let mut command = heapscribe();
    command.args(["snapshot", &pid.to_string(), "--session-dir"]).arg(&parent).arg("-o").arg(&file);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let trace = heapscribe_formats::Trace::open(fs::read(&file).unwrap()).unwrap();
    let table = &trace.processes()[0].live[0];
    // A thread that was killed between its block's slot and its event has one of them only.
    let leaked = Report::of(&run.trace()).json["leaked"]["blocks"].as_u64().unwrap();
    assert!(
        table.blocks.abs_diff(leaked) <= 3 && leaked > 0,
        "{} blocks live, {leaked} leaked",
        table.blocks
    );
    // It was asked for later, and all ages counted up to then: "2.31 s after its start" of a process of 0.7 s.
    let whole = heapscribe_formats::Trace::open(fs::read(run.trace()).unwrap()).unwrap();
    assert_eq!(table.mono_ns, whole.processes()[0].end.as_ref().unwrap().ended_mono_ns);
    let report = json(&["report", "--json"], &file);
    let lived_ns = report["age_ns"].as_u64().unwrap();
    let ages =
        report["stacks"].as_array().unwrap().iter().map(|stack| stack["age_ns"]["max"].as_u64().unwrap());
    assert!(ages.max().unwrap() <= lived_ns, "{lived_ns} ns: {report}");
    // The log is in the trace; what stays is small.
    use std::os::unix::fs::MetadataExt;
    assert_eq!(fs::metadata(stayed[0].join("log")).unwrap().blocks(), 0);
}

#[test]
fn a_child_that_aborts_stays_and_all_that_exit_do_not() {
    let (place, sessions) = (Place::new(), Place::new());
    let parent = sessions.path("");
    let script = "(exit 3); /bin/true; ls / >/dev/null; sh -c 'echo $(echo sub)'; sh -c 'kill -ABRT $$'; \
                  sh -c 'kill -TERM $$'; exit 0";
    let run = Run::new(&place, "sh").args(["-c", script]).options(options(&parent));
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let stayed = kept(&parent);
    assert!((1..=2).contains(&stayed.len()), "{stayed:?}"); // who waited for the one that was asked to end?
    let traced = Report::of(&run.trace());
    assert!(traced.processes().len() > stayed.len() + 3);
}

/// Children that become programs without a session, which allocate nothing or are static, have exited.
#[test]
fn who_execs_was_not_killed() {
    let (place, sessions) = (Place::new(), Place::new());
    let parent = sessions.path("");
    let forks = place.compile("life_fork.c");
    let quiet = ["-static", "-dynamic"].map(|link| {
        let flags = if link == "-static" { &["-static"][..] } else { &[] };
        place.compile_with("cc", "writes_arguments.c", &format!("writes_arguments{link}"), flags)
    });
    let run = Run::new(&place, &forks).args(["execs"]).args(&quiet).options(options(&parent));
    let (plain, recorded) = (run.plain(), run.recorded());
    assert_eq!((plain.code, plain.stdout), (0, recorded.stdout), "{}", recorded.stderr);
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    assert_eq!(kept(&parent), [] as [PathBuf; 0]);
    let report = Report::of(&run.trace());
    let ends = report.processes().iter().filter(|process| process["ended"] == "execed").count();
    assert_eq!((report.processes().len(), ends), (17, 16), "{:?}", report.json["processes"]);
}

/// Its parent may have waited for it before anybody looks: then nobody knows, but it did not exit.
#[test]
fn who_is_killed_has_not_exited() {
    let (place, sessions) = (Place::new(), Place::new());
    let parent = sessions.path("");
    let script = "(x=$(echo a); kill -TERM $BASHPID); true";
    let run = Run::new(&place, "bash").args(["-c", script]).options(options(&parent));
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    let ends: Vec<_> = report.processes().iter().map(|of| of["ended"].as_str().unwrap()).collect();
    let killed = ends.iter().filter(|ended| ["killed", "ended"].contains(ended)).count();
    assert_eq!((ends[0], killed), ("exited", 1), "{ends:?}");
}

/// An exec that fails is none.
#[test]
fn who_is_killed_after_a_failed_exec_was_killed() {
    let (place, sessions) = (Place::new(), Place::new());
    let parent = sessions.path("");
    let program = place.compile("life_fork.c");
    let run = Run::new(&place, &program).args(["aborts_after_failed_exec"]).options(options(&parent));
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(kept(&parent).len(), 1, "{}", ended.stderr);
}

/// A program that locks its memory has a live table of which only what is used takes memory: 20 MiB for a heap of
/// 150, not the next window, too.
#[test]
fn locked_memory_does_not_fill_the_live_table() {
    use std::os::unix::fs::MetadataExt;
    if !is_root_or_skip("mlockall") {
        return;
    }
    let place = Place::new();
    // In memory, where a hole that is looked at is filled.
    let sessions = tempfile::Builder::new().prefix("heapscribe-e2e.").tempdir_in("/dev/shm").unwrap();
    let program = place.compile("life_limits.c");
    let run = Run::new(&place, &program).args(["locked_windows"]).options(options(sessions.path()));
    let ended = run.recorded();
    assert_eq!(ended.code, 128 + 9, "{}", ended.stderr);
    let live = fs::metadata(kept(sessions.path())[0].join("live")).unwrap();
    assert!((18 << 20..24 << 20).contains(&(live.blocks() * 512)), "{} blocks", live.blocks());
}

#[test]
fn nothing_stays_when_nothing_is_to() {
    let (place, sessions) = (Place::new(), Place::new());
    let parent = sessions.path("");
    let keep_none = ["--keep-killed".to_owned(), "0".to_owned()];
    let run = Run::new(&place, "sh").args(["-c", "kill -KILL $$"]);
    let ended = run.options(options(&parent).into_iter().chain(keep_none)).recorded();
    assert_eq!(ended.code, 128 + 9, "{}", ended.stderr);
    assert_eq!(fs::read_dir(&parent).unwrap().count(), 0);
}
