//! What `record` passes on - exit codes, signals - and what it says when it saw nothing: never silence, and
//! never a hang.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::{
    Ended, Place, Report, Run, Started, has, heapscribe, lives, may_be_setuid_or_skip, skip, until,
};
use rustix::process::{Pid, Signal, kill_process};

fn ran(place: &Place, program: &Path, args: &[&str]) -> Ended {
    Run::new(place, program).args(args).recorded()
}

#[test]
fn exit_codes() {
    let place = Place::new();
    let says = place.compile("says.c");
    for n in [0, 1, 42, 125, 255] {
        assert_eq!(ran(&place, &says, &["code", &n.to_string()]).code, n);
        assert_eq!(Report::of(&place.path("run.hst")).json["exit"]["code"], n);
    }
    for signal in [1, 2, 6, 9, 11, 13, 15] {
        assert_eq!(ran(&place, &says, &["signal", &signal.to_string()]).code, 128 + signal);
        assert_eq!(Report::of(&place.path("run.hst")).json["exit"]["signal"], signal);
    }
}

#[test]
fn commands_that_can_not_be_run() {
    let place = Place::new();
    let file = place.path("not_executable");
    fs::write(&file, "text").unwrap();
    let directory = place.path("directory");
    fs::create_dir(&directory).unwrap();
    for (program, code) in [
        (Path::new("/nowhere/at all"), 127),
        (Path::new("no-such-command"), 127),
        (&file, 126),
        (&directory, 126),
    ] {
        let ended = ran(&place, program, &[]);
        assert_eq!(ended.code, code, "{}: {}", program.display(), ended.stderr);
        assert!(ended.stderr.contains(program.to_str().unwrap()), "{}", ended.stderr);
        assert!(!place.path("run.hst").exists(), "an empty trace is left for {}", program.display());
    }
}

/// The program that counts signals, when it is ready for them.
fn waiting(place: &Place) -> Started {
    let seen = place.path("seen");
    let started = Run::new(place, place.compile("says.c")).args(["wait"]).env("SEEN", seen).start();
    until("the program is ready", || started.said().0 == "ready\n");
    started
}

/// How many signals have arrived in it.
fn seen(place: &Place) -> usize {
    std::fs::metadata(place.path("seen")).map_or(0, |meta| meta.len() as usize)
}

/// Each signal reaches the program once, and `record` lives on.
#[test]
fn signals_are_passed_on() {
    let place = Place::new();
    let started = waiting(&place);
    for (n, signal) in
        [Signal::TERM, Signal::INT, Signal::HUP, Signal::USR1, Signal::USR2].into_iter().enumerate()
    {
        started.signal(signal);
        until("the signal arrives", || seen(&place) > n);
    }
    let ended = started.wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (11, "ready\nTERM 1 INT 1 HUP 1 USR1 1 USR2 1\n"));
    Report::of(&place.path("run.hst")).assert_whole(&[]);
}

/// What a process sends to the whole group reaches the program directly, and is passed on as well. (What a
/// terminal sends comes from the kernel and is not.)
#[test]
fn signals_to_the_group() {
    let place = Place::new();
    let started = waiting(&place);
    for signal in [Signal::INT, Signal::USR1, Signal::USR2] {
        let before = seen(&place);
        rustix::process::kill_process_group(started.pid(), signal).unwrap();
        until("the signal arrives", || seen(&place) > before);
    }
    assert_eq!(started.wait().code, 11);
    Report::of(&place.path("run.hst")).assert_whole(&[]);
}

/// Ended by a signal that `record` passed on.
#[test]
fn ended_by_a_signal() {
    let place = Place::new();
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::USR1, 138)] {
        let started = Run::new(&place, "sleep").args(["1000"]).start();
        until("it records", || started.said().1.contains("recording into"));
        started.signal(signal);
        assert_eq!(started.wait().code, code);
    }
}

/// A warning that says why nothing was seen, and a trace that reads.
#[track_caller]
fn assert_unseen(place: &Place, ended: &Ended, why: &str) {
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("warning: recorded no allocations of"), "{}", ended.stderr);
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint:"), "{}", ended.stderr);
    assert_eq!(Report::of(&place.path("run.hst")).calls().all(), 0);
    let report = heapscribe().args(["report", "--full"]).arg(place.path("run.hst")).output().unwrap().stdout;
    let report = String::from_utf8(report).unwrap();
    assert!(report.contains("Nothing was recorded\n"), "{report}");
    assert!(!report.contains("every block was freed"), "{report}");
}

/// Who wants no summary is told what could not be recorded, and not that a program made no calls (`true`).
#[test]
fn quiet_unless_something_is_wrong() {
    let place = Place::new();
    let quiet = |program: &Path, args: &[&str]| {
        let ended = Run::new(&place, program).args(args).options(["-q"]).recorded();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.stderr
    };
    assert_eq!(quiet(Path::new("true"), &[]), "");
    let says = place.compile_with("cc", "says.c", "says", &["-static"]);
    assert!(quiet(&says, &[]).contains("statically linked"));
    let other = place.compile("hello.c");
    let told = quiet(Path::new("env"), &["-i", other.to_str().unwrap()]);
    assert!(told.contains("warning: not recorded: 1 program, because its environment was cleared"), "{told}");
}

/// heaptrack waits for ever here.
#[test]
fn static_program() {
    let place = Place::new();
    let program = place.compile_with("cc", "says.c", "says", &["-static"]);
    let ended = ran(&place, &program, &[]);
    assert_eq!(ended.stdout, "nothing to do\n");
    assert_unseen(&place, &ended, "statically linked");
}

/// What tells a Go program from others is a section of its file.
#[test]
fn static_go_program() {
    let place = Place::new();
    let header = place.path("go.h");
    fs::write(&header, "__attribute__((section(\".go.buildinfo\"))) char info[16];\n").unwrap();
    let go = place.compile_with("cc", "says.c", "go", &["-static", "-include", header.to_str().unwrap()]);
    let ended = ran(&place, &go, &[]);
    assert_unseen(&place, &ended, "is a statically linked Go program");
    assert!(ended.stderr.contains("reads the heap profiles (runtime/pprof)"), "{}", ended.stderr);
}

#[test]
fn static_pie_program() {
    let place = Place::new();
    let program = place.compile_with("cc", "says.c", "says", &["-static-pie"]);
    assert_unseen(&place, &ran(&place, &program, &[]), "statically linked");
}

#[test]
fn static_musl_program() {
    if !has("musl-gcc") {
        return skip("musl-gcc is not there");
    }
    let place = Place::new();
    let program = place.compile_with("musl-gcc", "says.c", "says", &["-static"]);
    assert_unseen(&place, &ran(&place, &program, &[]), "statically linked");
}

/// rustc with jemalloc, mold with mimalloc, redis.
#[test]
fn program_with_a_heap_of_its_own() {
    let place = Place::new();
    let ended = ran(&place, &place.compile_with("cc", "own_heap.c", "own_heap", &["-rdynamic"]), &[]);
    assert_eq!(ended.stdout, "own heap\n");
    assert_eq!(ended.code, 0);
    // The recorder takes the program's heap's place, or says why it did not.
    let seen = Report::of(&place.path("run.hst")).calls().all();
    assert!(
        seen >= 2000 || ended.stderr.contains("contains its own heap (malloc)"),
        "{seen}: {}",
        ended.stderr
    );
}

/// What `record` says of programs that it knows of and that it could not record.
#[track_caller]
fn assert_unrecorded(ended: &Ended, programs: &str, name: &str) {
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let line = ended.stderr.lines().find_map(|line| line.split_once("not recorded: "));
    let Some((_, line)) = line else { panic!("nothing is said: {}", ended.stderr) };
    assert!(line.starts_with(programs) && line.contains(name), "{line}");
}

/// `env -i` and its like.
#[test]
fn programs_whose_environment_is_cleared() {
    let place = Place::new();
    let (says, quiet) = (place.compile("says.c"), place.compile("writes_arguments.c"));
    let forks = place.compile("life_fork.c");
    let script = format!("env -i {0}; {0}", says.display());
    let ended = Run::new(&place, "sh").args(["-c", &script]).recorded();
    assert_unrecorded(&ended, "1 of ", &format!(" {}", says.display()));
    assert!(ended.stderr.contains("because its environment was cleared"), "{}", ended.stderr);
    let ended = ran(&place, &forks, &["escapes", quiet.to_str().unwrap()]);
    assert_unrecorded(&ended, "3 of 4 programs", &quiet.display().to_string());
    let ended = ran(&place, &forks, &["execs", quiet.to_str().unwrap()]);
    assert_unrecorded(&ended, "4 of 5 programs", "because their environment was cleared");
    let ended = ran(&place, &says, &[]);
    assert!(!ended.stderr.contains("not recorded"), "{}", ended.stderr);
}

/// The loader ignores LD_PRELOAD for a program that gets other rights than its caller has.
#[test]
fn setuid_program() {
    let place = Place::new();
    if !may_be_setuid_or_skip(&place) {
        return;
    }
    let program = place.compile("says.c");
    // Everybody may come here, and the program is somebody else's.
    fs::set_permissions(place.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(&program, Some(65534), Some(65534)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let ended = ran(&place, &program, &[]);
    assert_eq!(ended.stdout, "nothing to do\n", "{}", ended.stderr);
    assert_unseen(&place, &ended, "is setuid");
}

#[test]
fn script() {
    let place = Place::new();
    let (script, says) = (place.path("script"), place.compile("says.c"));
    fs::write(&script, format!("#!/bin/sh\n{}\nexit 5\n", says.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = ran(&place, &script, &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (5, "nothing to do\n"), "{}", ended.stderr);
    let report = Report::of(&place.path("run.hst"));
    assert!(report.processes().iter().any(|p| p["exe"] == says.to_str().unwrap()));
}

/// A program that forgets its environment before it starts another.
#[test]
fn cleared_environment() {
    let place = Place::new();
    let says = place.compile("says.c");
    let ended = ran(&place, Path::new("env"), &["-i", says.to_str().unwrap()]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "nothing to do\n"), "{}", ended.stderr);
}

/// A process that outlives the program: waited for, or told about with `--no-wait`. What `recover` finds of it when it is
/// dead ended before that, and the program as `record` has seen it.
#[test]
fn process_that_goes_on() {
    let (place, sessions) = (Place::new(), Place::new());
    let says = place.compile("says.c");
    // Until it has allocated: killed before that it has left nothing.
    let script = format!(
        "{} wait & pid=$!; until test -e $SEEN; do sleep 0.05; done; echo $pid; exit 3",
        says.display()
    );
    let run = Run::new(&place, "sh").args(["-c", &script]).options(["--no-wait", "--session-dir"]);
    let run = run.options([sessions.path("")]).env("SEEN", place.path("seen"));
    let ended = run.recorded();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let pid: i32 = ended.stdout.lines().find_map(|line| line.parse().ok()).expect("the pid");
    assert!(lives(pid as u32), "`record` waited for it");
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    assert_eq!(Report::of(&run.trace()).json["exit"]["code"], 3);
    until("its end", || !lives(pid as u32));
    let dead = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let left =
        std::fs::read_dir(sessions.path("")).unwrap().next().expect("a base directory").unwrap().path();
    let recovered = heapscribe().args(["recover", "-o"]).arg(run.trace()).arg(left).output().unwrap();
    assert!(recovered.status.success(), "{}", String::from_utf8_lossy(&recovered.stderr));
    let report = Report::of(&run.trace()).json;
    assert_eq!(report["exit"]["code"], 3);
    let number = |of: &serde_json::Value| of.as_u64().unwrap();
    let duration_ns = number(&report["duration_ns"]);
    let last_end_ns = report["processes"].as_array().unwrap().iter().map(|of| number(&of["end_ns"])).max();
    assert_eq!(last_end_ns, Some(duration_ns));
    assert!(
        u128::from(number(&report["begin_real_ns"]) + duration_ns) < dead.as_nanos(),
        "it ended later than it died"
    );
}
