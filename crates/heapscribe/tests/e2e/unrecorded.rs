//! Programs that are started and can not be recorded: each is named with its reason, by `record`, in the trace, in
//! every report of it, and no rule holds for what nobody has seen.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{
    Ended, Place, Report, Run, has, heapscribe, is_root_or_skip, may_be_setuid_or_skip, may_mount_or_skip,
    skip,
};
use serde_json::Value;

/// Pid, name and reason of the programs that a trace says were not recorded.
fn unrecorded(report: &Report) -> Vec<(u64, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let programs = report.json["unrecorded"]["programs"].as_array().unwrap().iter();
    programs.map(|p| (p["pid"].as_u64().unwrap(), text(&p["program"]), text(&p["reason"]))).collect()
}

/// What a command of heapscribe prints of the trace, and its exit code.
fn output(place: &Place, arguments: &[&str]) -> (i32, String) {
    let output = heapscribe().args(arguments).arg(place.path("run.hst")).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Records the command: the programs of these names and reasons are not recorded, everybody says so, and the program
/// does what it does without us.
#[track_caller]
fn check(place: &Place, command: &[&str], expected: &[(&str, &str)], why: &str) -> Ended {
    let run = Run::new(place, command[0]).args(&command[1..]);
    let (plain, ended) = (run.plain(), run.recorded());
    assert_eq!((ended.code, &ended.stdout), (plain.code, &plain.stdout), "{}", ended.stderr);
    assert!(ended.stderr.contains("not recorded: ") && ended.stderr.contains(why), "{}", ended.stderr);
    let found = unrecorded(&Report::of(&run.trace()));
    let of_these: Vec<_> = found.iter().map(|(_, name, reason)| (name.as_str(), reason.as_str())).collect();
    assert_eq!(of_these, expected, "{}", ended.stderr);
    assert!(found.iter().all(|(pid, ..)| *pid > 1), "{found:?}");
    let (code, report) = output(place, &["report", "--full"]);
    assert_eq!(code, 0);
    assert!(report.contains("Not recorded") && report.contains(why), "{report}");
    let (code, verdicts) = output(place, &["check", "--max-leaked", "1GiB"]);
    assert!(code == 3 && verdicts.contains("UNDECIDED") && verdicts.contains(why), "{code}: {verdicts}");
    ended
}

/// The program, where everybody may run it.
fn program(place: &Place) -> String {
    fs::set_permissions(place.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    place.compile("escapes.c").to_str().unwrap().to_owned()
}

#[test]
fn a_cleared_environment() {
    let place = Place::new();
    let program = program(&place);
    let why = "its environment was cleared";
    check(&place, &["env", "-i", &program], &[(&program, "environment")], why);
    check(&place, &[&program, "quiet", &program], &[(&program, "environment")], why);
    check(&place, &[&program, "spawns", &program], &[(&program, "environment")], why);
}

/// A wrapper with a library of its own: `env LD_PRELOAD=x sqlite3`.
#[test]
fn another_preload() {
    let place = Place::new();
    let program = program(&place);
    for preload in ["LD_PRELOAD=", "LD_PRELOAD=/no/other.so"] {
        let command = format!("{preload} {program} 2>/dev/null");
        check(&place, &["sh", "-c", &command], &[(&program, "preload")], "LD_PRELOAD of its environment");
    }
}

#[test]
fn another_user() {
    if !is_root_or_skip("another user") {
        return;
    }
    let place = Place::new();
    let program = program(&place);
    let why = "as another user";
    if has("setpriv") {
        let command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", &program];
        check(&place, &command, &[(&program, "user")], why);
    } else {
        skip("setpriv is not there");
    }
    if has("su") {
        // The child of su allocates before it execs.
        let su = fs::canonicalize("/usr/bin/su").or_else(|_| fs::canonicalize("/bin/su")).unwrap();
        let su = su.to_str().unwrap();
        check(&place, &["su", "-s", &program, "nobody"], &[(su, "user"), (&program, "user")], why);
    } else {
        skip("su is not there");
    }
}

#[test]
fn a_sandbox() {
    if !may_mount_or_skip("a sandbox") {
        return;
    }
    if !has("bwrap") {
        return skip("bwrap is not there");
    }
    let place = Place::new();
    let program = program(&place);
    let sandbox = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", &program];
    if !Command::new(sandbox[0]).args(&sandbox[1..]).output().unwrap().status.success() {
        return skip("bwrap can not make a sandbox here");
    }
    check(&place, &sandbox, &[(&program, "hidden")], "hides the recording");
    // It sees the directory of the sessions, and can make none there.
    let sandbox = ["bwrap", "--ro-bind", "/", "/", &program];
    check(&place, &sandbox, &[(&program, "hidden")], "makes it read-only");
}

#[test]
fn few_descriptors() {
    let place = Place::new();
    let program = program(&place);
    let why = "no free file descriptor";
    let ended = check(&place, &[&program, "few"], &[(&program, "descriptors")], why);
    assert!(!ended.stderr.contains("cleared its environment"), "{}", ended.stderr);
    check(&place, &[&program, "few_child"], &[(&program, "descriptors")], why);
    // Its loader cannot open any library.
    let limited = format!("ulimit -n 3; exec {program}");
    check(&place, &["sh", "-c", &limited], &[(&program, "descriptors")], why);
}

/// Children after the session directory was removed, which a clean-up of /dev/shm does.
#[test]
fn a_removed_directory() {
    let place = Place::new();
    let program = program(&place);
    let sessions = place.path("sessions");
    fs::create_dir(&sessions).unwrap();
    let run = Run::new(&place, &program).args(["removed", &program]);
    let ended = run.options(["--session-dir".into(), sessions]).recorded();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "leaks\n"), "{}", ended.stderr);
    let report = Report::of(&place.path("run.hst"));
    let reasons: Vec<_> = unrecorded(&report).into_iter().map(|(_, name, reason)| (name, reason)).collect();
    let removed = (program, "removed".to_owned());
    assert_eq!(reasons, [removed.clone(), removed], "{}", ended.stderr);
}

#[test]
fn static_programs() {
    let place = Place::new();
    fs::set_permissions(place.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    for flags in [&["-static"][..], &["-static-pie"]] {
        let program = place.compile_with("cc", "escapes.c", "static", flags);
        let program = program.to_str().unwrap();
        let expected = &[(program, "static")];
        check(&place, &[program], expected, "it is statically linked");
        check(&place, &["sh", "-c", &format!("{program}; true")], expected, "it is statically linked");
    }
}

/// A script whose interpreter is static, and a program that is looked for in PATH.
#[test]
fn static_interpreter() {
    let place = Place::new();
    let program = place.compile_with("cc", "escapes.c", "static", &["-static"]);
    let script = place.path("script");
    fs::write(&script, format!("#! {}\n", program.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths(
        [place.path("")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let run = Run::new(&place, "env").args(["script"]).env("PATH", path.unwrap());
    let ended = run.recorded();
    // The script is argument 1 of its interpreter, which knows no such way.
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
    let found = unrecorded(&Report::of(&run.trace()));
    let of_these: Vec<_> = found.iter().map(|(_, name, reason)| (name.as_str(), reason.as_str())).collect();
    assert_eq!(of_these, [("script", "static")], "{}", ended.stderr);
}

#[test]
fn program_of_32_bits() {
    let place = Place::new();
    let (source, probe) = (place.path("probe.c"), place.path("probe"));
    fs::write(&source, "#include <stdlib.h>\nint main(void) { return 0; }\n").unwrap();
    let built = Command::new("cc").arg("-m32").arg(&source).arg("-o").arg(&probe).output().unwrap();
    if !built.status.success() || !runs(&probe) {
        return skip("programs of 32 bits can not be built or run (gcc-multilib)");
    }
    let program = place.compile_with("cc", "escapes.c", "narrow", &["-m32"]);
    let program = program.to_str().unwrap();
    let (expected, why) = (&[(program, "architecture")], "it is not a 64-bit x86 program");
    check(&place, &[program], expected, why);
    check(&place, &["sh", "-c", &format!("{program}; true")], expected, why);
}

fn runs(program: &PathBuf) -> bool {
    Command::new(program).status().is_ok_and(|status| status.success())
}

#[test]
fn setuid_program() {
    let place = Place::new();
    if !may_be_setuid_or_skip(&place) {
        return;
    }
    let program = program(&place);
    std::os::unix::fs::chown(&program, Some(65534), Some(65534)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let (expected, why) = (&[(program.as_str(), "privileged")], "more rights than its caller");
    check(&place, &[&program], expected, why);
    check(&place, &["sh", "-c", &format!("{program}; true")], expected, why);
}

/// A failed exec is taken back; of many programs some are named and all are counted.
#[test]
fn what_failed_is_none_and_many_are_counted() {
    let place = Place::new();
    let program = program(&place);
    let ended = Run::new(&place, &program).args(["fails", &program]).recorded();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "leaks\n"), "{}", ended.stderr);
    let report = Report::of(&place.path("run.hst"));
    assert_eq!((unrecorded(&report), report.json["unrecorded"]["count"].as_u64()), (vec![], Some(0)));
    let (code, verdicts) = output(&place, &["check", "--max-leaked", "1GiB"]);
    assert_eq!(code, 0, "{verdicts}");

    let ended = Run::new(&place, &program).args(["many", &program]).recorded();
    assert!(ended.stderr.contains("not recorded: 20 of 21 programs"), "{}", ended.stderr);
    let report = Report::of(&place.path("run.hst"));
    assert_eq!(report.json["unrecorded"]["count"], 20);
    assert_eq!(unrecorded(&report).len(), 13);
    assert_eq!(report.json["unrecorded"]["others"][0]["count"], 7);
    // Rules for other programs are decided.
    let (code, verdicts) = output(&place, &["check", "--max-leaked", "1GiB", "--process", "other"]);
    assert!(code == 3 && verdicts.contains("7 programs"), "{verdicts}");
}

/// A ring and a trace that `recover` makes say it, too.
#[test]
fn ring_and_redacted_trace() {
    let place = Place::new();
    let program = program(&place);
    let run = Run::new(&place, "env").args(["-i", &program]).options(["--ring", "1MiB"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let (_, name, reason) = unrecorded(&Report::of(&run.trace())).remove(0);
    assert_eq!((name, reason.as_str()), (program.clone(), "environment"));
    let hidden = place.path("hidden.hst");
    let made = heapscribe().arg("redact").arg(run.trace()).arg("-o").arg(&hidden).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (_, name, reason) = unrecorded(&Report::of(&hidden)).remove(0);
    assert!(name != program && reason == "environment", "{name}");
}

/// bash's builtins and `seq`: a parent that allocates nothing has children that do.
#[test]
fn children_of_a_parent_without_calls() {
    let place = Place::new();
    let program = program(&place);
    let ended = Run::new(&place, &program).args(["forks"]).recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(!ended.stderr.contains("recorded no allocations"), "{}", ended.stderr);
    let report = Report::of(&place.path("run.hst"));
    let forked: Vec<_> = report.processes().iter().map(|process| process["forked"].clone()).collect();
    assert_eq!(forked, [true, true, true]);
}
