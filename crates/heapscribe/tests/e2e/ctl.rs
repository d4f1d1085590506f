//! `ctl` and a running program: the word in its session's head is what was asked for, and says so.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Place, Report, Run, heapscribe, until};
use heapscribe_formats::Trace;
use heapscribe_session::monotonic_ns;
use heapscribe_wire::head::MODE_OFFSET;
use heapscribe_wire::mode::Mode;
use rustix::process::{Pid, Signal, kill_process};

/// The sessions below a directory for sessions: pid and path of the head.
fn sessions(dir: &Path) -> Vec<(u32, PathBuf)> {
    let inside = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let in_bases = inside(dir).flat_map(|base| inside(&base).collect::<Vec<_>>());
    let finished = in_bases.filter_map(|path| {
        let pid = path.file_name()?.to_str()?.split_once('.')?.0.parse().ok()?;
        let head = path.join("head");
        let has_magic = std::fs::read(&head).is_ok_and(|bytes| bytes.starts_with(b"HSCRHEAD"));
        has_magic.then_some((pid, head))
    });
    finished.collect()
}

fn mode(head: &Path) -> Mode {
    let mut word = [0; 8];
    std::fs::File::open(head).unwrap().read_exact_at(&mut word, MODE_OFFSET as u64).unwrap();
    Mode::from_word(u64::from_le_bytes(word))
}

/// Runs `ctl` for a process; what it says.
fn ctl(dir: &Path, pid: u32, words: &[&str]) -> String {
    let mut command = heapscribe();
    command.arg("ctl").arg(pid.to_string()).args(words).arg("--session-dir").arg(dir);
    String::from_utf8(command.output().unwrap().stderr).unwrap()
}

#[test]
fn a_name_is_the_one_that_was_typed() {
    let place = Place::new();
    let dir = place.path("sessions");
    std::fs::create_dir(&dir).unwrap();
    let typed = place.path("typed-name");
    std::os::unix::fs::symlink("/bin/sleep", &typed).unwrap();
    let run = Run::new(&place, &typed).args(["1000"]).options(["--session-dir"]).options([&dir]);
    let started = run.start();
    until("the program has a session", || !sessions(&dir).is_empty());
    let (pid, _) = sessions(&dir).remove(0);
    let output_of = |words: &[&str]| {
        let output = heapscribe().args(words).arg("--session-dir").arg(&dir).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    for name in ["typed-name", "sleep"] {
        for words in [&["ctl", name, "mode", "full"][..], &["list", name], &["top", name, "--once"]] {
            let (code, text) = output_of(words);
            assert_eq!(code, Some(0), "{words:?}: {text}");
        }
    }
    assert_ne!(output_of(&["list", "other-name"]).0, Some(0));
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
    assert_eq!(started.wait().code, 128 + 9);
    let (_, text) = output_of(&["ps"]);
    assert!(text.contains("ended"), "{text}");
    assert_eq!(output_of(&["list", "typed-name"]).0, Some(0), "also when it has ended");
    let (code, text) = output_of(&["ps", "--clean"]);
    assert!(code == Some(0) && text.contains("removed 1 session") && !text.contains("ended"), "{text}");
}

#[test]
fn a_running_program_is_told_what_to_record() {
    let place = Place::new();
    let dir = place.path("sessions");
    std::fs::create_dir(&dir).unwrap();
    let run = Run::new(&place, "sleep").args(["1000"]).options(["--session-dir"]).options([&dir]);
    let run = run.options(["--sample", "1MiB"]);
    let started = run.start();
    until("the program has a session", || !sessions(&dir).is_empty());
    let (pid, head) = sessions(&dir).remove(0);
    let mut said = Vec::new();
    for (words, wanted) in [
        (&["mode", "full"][..], Mode::Full),
        (&["mode", "sampled:64KiB"], Mode::Sampled { mean_bytes: 64 << 10 }),
        (&["stop"], Mode::Off),
        (&["stop"], Mode::Off),
        (&["start"], Mode::Sampled { mean_bytes: 1 << 20 }),
    ] {
        said.push(ctl(&dir, pid, words).replace(&pid.to_string(), "PID"));
        assert_eq!(mode(&head), wanted, "{said:?}");
    }
    assert!(
        said[1].ends_with("sleep) now records one sample per 64.0 KiB, before: every block\n"),
        "{said:?}"
    );
    assert!(said[2].ends_with("now records no new blocks, before: one sample per 64.0 KiB\n"), "{said:?}");
    let by_name = Command::new(heapscribe().get_program())
        .args(["ctl", "sleep", "stop", "--session-dir"])
        .arg(&dir)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&by_name.stderr).contains(&format!("process {pid} ")), "{by_name:?}");
    assert!(said[3].ends_with("already records no new blocks\n"), "{said:?}");
    let mut set = Vec::new();
    for name in ["second phase", "second phase", "third"] {
        let before = monotonic_ns();
        let told = ctl(&dir, pid, &["mark", name]);
        set.push(before..=monotonic_ns());
        assert!(told.contains("set the mark in process"), "{told}");
    }
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::TERM).unwrap();
    assert_eq!(started.wait().code, 128 + 15);
    let report = Report::of(&run.trace());
    let marks: Vec<_> = report.json["marks"].as_array().unwrap().iter().collect();
    let told = marks.iter().map(|mark| (mark["name"].as_str().unwrap(), mark["count"].as_u64().unwrap()));
    assert_eq!(told.collect::<Vec<_>>(), [("second phase", 2), ("third", 1)]);
    // `sleep` allocates at its start only: its marks have the time at which they were set all the same.
    let trace = Trace::open(std::fs::read(run.trace()).unwrap()).unwrap();
    let at = |mark: &serde_json::Value, which: &str| trace.start_mono_ns() + mark[which].as_u64().unwrap();
    let marked = [at(marks[0], "first_ns"), at(marks[0], "last_ns"), at(marks[1], "first_ns")];
    for (marked, set) in marked.iter().zip(&set) {
        assert!(set.contains(marked), "set in {set:?}, {marked} in the trace");
    }
    let times =
        [&marks[0]["first_ns"], &marks[0]["last_ns"], &marks[1]["first_ns"], &report.json["duration_ns"]];
    assert!(times.map(|time| time.as_u64()).is_sorted(), "{times:?}");
    assert!(ctl(&dir, pid, &["stop"]).starts_with("error: this user has no session of process"));
}

/// A service that was killed and started again was reached by its name no more, as long as what was live in the killed one is
/// kept.
#[test]
fn a_name_is_that_of_the_process_that_lives() {
    let place = Place::new();
    let dir = place.path("sessions");
    std::fs::create_dir(&dir).unwrap();
    let service = place.path("service");
    std::os::unix::fs::symlink("/bin/sleep", &service).unwrap();
    let restarted = "\"$0\" 1000 & sleep 0.5; kill -9 $!; wait; exec \"$0\" 1000";
    let run = Run::new(&place, "sh").args(["-c", restarted]).args([&service]);
    let run = run.options(["--session-dir"]).options([&dir]);
    let started = run.start();
    let ps = || heapscribe().args(["ps", "--json", "--session-dir"]).arg(&dir).output().unwrap().stdout;
    let states = || -> Vec<bool> {
        let rows: Vec<serde_json::Value> = serde_json::from_slice(&ps()).unwrap_or_default();
        let of_service =
            rows.iter().filter(|row| row["exe"].as_str().is_some_and(|exe| exe.ends_with("/sleep")));
        of_service.map(|row| row["alive"].as_bool().unwrap()).collect()
    };
    until("one was killed, and one lives", || {
        let states = states();
        states.contains(&true) && states.contains(&false)
    });
    for words in [&["ctl", "service", "mark", "here"][..], &["top", "service", "--once"]] {
        let output = heapscribe().args(words).arg("--session-dir").arg(&dir).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    started.signal(Signal::TERM);
    started.wait();
}
