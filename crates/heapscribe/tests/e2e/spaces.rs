//! Programs in name spaces of their own, where a pid means another process than it does to `record`.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Counted, Place, Report, Run, has, heapscribe, may_mount_or_skip, skip, until};

/// A container's first process is pid 1 there: `record` must not take it for the machine's init, and wait
/// for that for ever; and the container's calls are in the trace.
#[test]
fn pid_name_space() {
    if !may_mount_or_skip("unshare") || !has("unshare") {
        return;
    }
    let place = Place::new();
    let program = place.compile("worker.c");
    let run = Run::new(&place, "unshare").args(["-pf"]).args([&program]).args(["-n", "200000"]);
    let run = run.env("COUNTS", place.path("counts"));
    let started = run.start();
    // Until it hangs, which is no matter of seconds on a machine that is busy.
    let ended = started.wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "work done\n"));
    let counted = Counted::read(&place.path("counts")).calls.all();
    assert!(Report::of(&run.trace()).calls().all() >= counted);
}

/// Of 300 short programs in a container 34 to 83 were missing: a session that was being made when `record` looked had no
/// process of its pid outside, and was removed.
#[test]
fn short_programs_in_a_pid_name_space_are_all_recorded() {
    if !may_mount_or_skip("unshare") || !has("unshare") {
        return;
    }
    let place = Place::new();
    let program = place.compile("worker.c");
    let script =
        format!("i=0; while [ $i -lt 300 ]; do {} -n 20 > /dev/null; i=$((i+1)); done", program.display());
    let run = Run::new(&place, "unshare").args(["-pf", "sh", "-c", &script]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    let processes = report.json["processes"].as_array().unwrap();
    let is_worker = |process: &&Value| process["exe"].as_str() == program.to_str();
    let workers: Vec<_> = processes.iter().filter(is_worker).collect();
    assert_eq!(workers.len(), 300);
    // What is another's outside is not asked how it ended.
    assert!(workers.iter().all(|process| process["ended"] == "exited"), "{workers:?}");
}

/// A process whose clock was behind passed for one that had come later: all that it did after it was found was missing.
#[test]
fn time_name_space() {
    if !may_mount_or_skip("unshare") || !has("unshare") {
        return;
    }
    let place = Place::new();
    let program = place.compile("worker.c");
    for seconds in ["-5", "5"] {
        let clocks = ["--monotonic", "--boottime"].map(|clock| format!("{clock}={seconds}"));
        let run =
            Run::new(&place, "unshare").args(["-Tf"]).args(&clocks).args([&program]).args(["-n", "200000"]);
        let counts = place.path(&format!("counts{seconds}"));
        let run = run.env("COUNTS", &counts);
        let ended = run.recorded();
        if ended.stderr.contains("timens_offsets") || ended.stderr.contains("invalid option") {
            return skip(format_args!("a time name space cannot be had: {}", ended.stderr));
        }
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "work done\n"), "{}", ended.stderr);
        let report = Report::of(&run.trace());
        assert!(
            report.calls().all() >= Counted::read(&counts).calls.all(),
            "{seconds}: {:?}",
            report.calls()
        );
    }
}

/// Of processes in containers `ps` printed what they call themselves there, 1 and 2, and no command found them by the pids
/// that they have here.
#[test]
fn processes_of_a_pid_name_space_are_found_by_their_pids_here() {
    if !may_mount_or_skip("unshare") || !has("unshare") {
        return;
    }
    let place = Place::new();
    let dir = place.path("sessions");
    std::fs::create_dir(&dir).unwrap();
    let two = "perl -e 'sleep 1000' & perl -e 'my @blocks = (1 .. 50000); sleep 1000' & wait";
    let containers =
        format!("unshare -pf --kill-child sh -c \"{two}\" & unshare -pf --kill-child sh -c \"{two}\" & wait");
    let run = Run::new(&place, "sh").args(["-c", &containers]).options(["--session-dir"]).options([&dir]);
    let started = run.start();
    let output_of = |words: &[&str]| {
        let output = heapscribe().args(words).arg("--session-dir").arg(&dir).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let is_perl = |row: &Value| row["exe"].as_str().is_some_and(|exe| exe.ends_with("/perl"));
    let rows = || -> Vec<Value> {
        let rows: Vec<Value> = serde_json::from_str(&output_of(&["ps", "--json"]).1).unwrap();
        rows.into_iter().filter(|row| is_perl(row) && row["live_blocks"].as_u64() > Some(900)).collect()
    };
    until("all four have begun", || rows().len() == 4);
    for row in rows() {
        let pid = row["pid"].to_string();
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
        assert_eq!(row["exe"].as_str(), exe.to_str());
        for words in [&["top", &pid, "--once"][..], &["ctl", &pid, "mark", "here"], &["list", &pid]] {
            let (code, text) = output_of(words);
            assert_eq!(code, Some(0), "{words:?}: {text}");
        }
        let out = place.path(&format!("{pid}.hst"));
        assert_eq!(output_of(&["snapshot", &pid, "-o", out.to_str().unwrap()]).0, Some(0));
        assert_eq!(Report::of(&out).json["live"]["blocks"], row["live_blocks"]);
    }
    let (code, text) = output_of(&["ctl", "2", "mark", "here"]);
    assert!(code == Some(1) && text.contains("no session of process 2"), "a pid of two containers: {text}");
    let (code, text) = output_of(&["snapshot", "perl"]);
    assert!(code == Some(1) && text.contains("matches 4 processes"), "{text}");
    for row in rows() {
        kill_process(Pid::from_raw(row["pid"].as_i64().unwrap() as i32).unwrap(), Signal::TERM).unwrap();
    }
    started.wait();
}

/// The first process of each container calls itself 1: the snapshot of one's peak was written over that of another.
#[test]
fn each_container_has_snapshots_of_its_own() {
    if !may_mount_or_skip("unshare") || !has("unshare") {
        return;
    }
    let place = Place::new();
    let one = |blocks| format!("unshare -pf perl -e 'my @blocks = map {{ [1] }} 1 .. {blocks}; sleep 2'");
    let containers = format!("{} & {} & wait", one(30_000), one(60_000));
    let run = Run::new(&place, "sh").args(["-c", &containers]).options(["--snapshot-at", "peak"]);
    assert_eq!(run.recorded().code, 0);
    let files = std::fs::read_dir(run.trace().parent().unwrap()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.ends_with(".peak.hst")).count(), 2);
}
