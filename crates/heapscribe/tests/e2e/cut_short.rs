//! Traces and tables that could not grow any further (a full disk, `ulimit -f`, no room for a session, a `record` that was
//! killed): what is not in them is counted, or told as what nobody knows, and no figure that it touches is called exact.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::disk::{Tmpfs, assert_unharmed, errors};
use crate::kill::{FOR_EVER, Worker, recovered};
use crate::support::{Counted, Place, Report, Run, Started, heapscribe, may_mount_or_skip, until};

/// A trace that was cut by a full disk or a limit, of which this was printed: it has or counts each call, and says so
/// wherever a figure is touched.
#[track_caller]
fn assert_cut_and_counted(trace: &Path, counts: &Path, stderr: &str) {
    assert!(stderr.contains("truncated"), "{stderr}");
    let report = Report::of(trace);
    let counted = Counted::read(counts).calls.all();
    let (calls, not_written) = (report.calls().all(), report.dropped("not_written"));
    assert!(calls > 0 && not_written > 0, "{calls} calls, {not_written} not written");
    assert!(
        (counted..counted + 100).contains(&(calls + report.dropped("total"))),
        "{counted}: {:?}",
        report.reasons()
    );
    assert!(stderr.contains(&format!("dropped: {} event", count(report.dropped("total")))), "{stderr}");
    let bounds = &report.json["bounds"];
    assert!(
        bounds["allocations"]["blocks"]["high"].as_u64() >= bounds["allocations"]["blocks"]["low"].as_u64()
    );
    assert_eq!((&bounds["peak"]["bytes"]["high"], report.code), (&Value::Null, 3));
    let mut command = heapscribe();
    command.arg("check").arg(trace).args(["--max-peak", "1GiB", "--max-leaked", "1GiB"]);
    let checked = command.output().unwrap();
    let shown = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.code() == Some(3) && shown.contains("2 undecided"), "{shown}");
}

/// `1234567` as it is printed.
fn count(n: u64) -> String {
    heapscribe_units::count(n)
}

/// heaptrack's program is killed by SIGPIPE here. A stranger's trial: of 2,980,152 calls 2,650,778 were not in the trace,
/// and "Events lost: 0." was said of it.
#[test]
fn trace_on_a_full_disk() {
    if !may_mount_or_skip("mount") {
        return;
    }
    for options in [&[][..], &["--ring", "4MiB"]] {
        let place = Place::new();
        let disk = Tmpfs::new(&place, "1m");
        let trace = disk.at.join("full.hst");
        let (program, counts) = (place.compile("worker.c"), place.path("counts"));
        let mut command = heapscribe();
        command.arg("record").args(options).arg("-o").arg(&trace).arg("--").arg(&program);
        command.args(["-j", "2", "-n", "800000", "-s", "3000"]).env("COUNTS", &counts);
        let ended = Started::new(command, &place, "recorded").wait();
        assert_unharmed(&ended);
        if options.is_empty() {
            assert_eq!(errors(&ended.stderr), 1, "{}", ended.stderr);
            assert_cut_and_counted(&trace, &counts, &ended.stderr);
            continue;
        }
        // A ring has become smaller, and its trace is whole.
        assert_eq!(errors(&ended.stderr), 0, "{}", ended.stderr);
        let report = Report::of(&trace);
        let evicted = report.json["ring"]["calls"].as_u64().unwrap();
        let counted = Counted::read(&counts).calls.all();
        assert!((counted..counted + 100).contains(&(report.calls().all() + evicted)), "{counted}, {evicted}");
        assert_eq!(report.code, 0);
    }
}

/// A file that may grow to so many bytes, `ulimit -f`: the system kills who writes more, unless that ignores SIGXFSZ.
pub(crate) fn with_files_of(bytes: u64, command: &[&Path]) -> Command {
    let mut limited = Command::new("sh");
    // POSIX: in units of 512 bytes.
    limited.args(["-c", "ulimit -f $0; exec \"$@\"", &(bytes / 512).to_string()]).args(command);
    limited
}

/// `xf` of a stranger's trial: `record` was killed by SIGXFSZ, and the program's exit code was lost with it.
#[test]
fn trace_at_the_limit_of_a_files_size() {
    let place = Place::new();
    let (program, bin) = (place.compile("worker.c"), heapscribe());
    let bin = Path::new(bin.get_program());
    for options in [&[][..], &["--ring", "4MiB"], &["--format", "memtrace"]] {
        let (trace, counts) = (place.path("limited"), place.path("counts"));
        let script = format!("{} -j 2 -n 400000 -s 3000; exit 7", program.display());
        let mut command = with_files_of(1 << 20, &[bin, Path::new("record"), Path::new("--force")]);
        command.args(options).arg("-o").arg(&trace).args(["--", "sh", "-c", &script]).env("COUNTS", &counts);
        let ended = Started::new(command, &place, "recorded").wait();
        assert_eq!((ended.code, ended.stdout.as_str()), (7, "work done\n"), "{options:?}: {}", ended.stderr);
        if options.contains(&"--ring") {
            assert_eq!(errors(&ended.stderr), 0, "a ring becomes smaller: {}", ended.stderr);
            assert_eq!(Report::of(&trace).dropped("not_written"), 0);
            continue;
        }
        assert!(errors(&ended.stderr) > 0, "{options:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("too large"), "{options:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("truncated"), "{options:?}: {}", ended.stderr);
        if options.is_empty() {
            let report = Report::of(&trace);
            assert!(
                report.dropped("not_written") > 0 && report.json["bounds"].is_object(),
                "{:?}",
                report.reasons()
            );
        }
    }
}

/// What other commands write is an error when it may not be written, too, and no reason to be killed.
#[test]
fn answers_at_the_limit_of_a_files_size() {
    let place = Place::new();
    let run =
        Run::new(&place, place.compile("worker.c")).args(["-n", "20000"]).env("COUNTS", place.path("n"));
    assert_unharmed(&run.recorded());
    let (trace, bin) = (run.trace(), heapscribe());
    let written = place.path("written.html");
    for words in [
        &["convert", "--to", "gotrace"][..],
        &["convert", "--to", "memtrace"],
        &["subsample", "--rate", "0.5"],
        &["redact"],
        &["flame"],
        &["view"],
    ] {
        let mut command = with_files_of(512, &[Path::new(bin.get_program()), Path::new(words[0]), &trace]);
        command.args(&words[1..]).arg("-o").arg(&written);
        let ended = Started::new(command, &place, "limited").wait();
        let _ = std::fs::remove_file(&written);
        assert_eq!((ended.code, errors(&ended.stderr)), (1, 1), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("too large"), "{words:?}: {}", ended.stderr);
    }
}

/// A million blocks of 24 bytes, most of them without a slot (`many` of a stranger's trial): what looks into the process
/// says between what lies that is live, and how many blocks were not followed.
#[test]
fn a_table_without_room_gives_bounds() {
    const BLOCKS: u64 = 1_000_000;
    const BYTES: u64 = 24 * BLOCKS;
    if !may_mount_or_skip("mount") {
        return;
    }
    let place = Place::new();
    let disk = Tmpfs::new(&place, "4m");
    let mut record = heapscribe();
    record.args(["record", "-q", "-o"]).arg(place.path("run.hst"));
    record.arg("--session-dir").arg(&disk.at).arg("--").arg(place.compile("holds_many.c"));
    let mut record =
        record.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut holds = [0; 6];
    std::io::Read::read_exact(record.stdout.as_mut().unwrap(), &mut holds).unwrap();
    let shown = |words: &[&str], more: &[&Path]| {
        let mut command = heapscribe();
        let output = command.args(words).arg("--session-dir").arg(&disk.at).args(more).output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [rows, _] = shown(&["ps", "--json"], &[]);
    let rows: Value = serde_json::from_str(&rows).unwrap();
    let untracked = rows[0]["untracked_blocks"].as_u64().unwrap();
    let lost = rows[0]["lost_events"].as_u64().unwrap();
    assert!((1..BLOCKS).contains(&untracked), "{rows}");
    let check = |bounds: &Value| {
        for (figure, all) in [("blocks", BLOCKS), ("bytes", BYTES)] {
            let [low, high] = ["low", "high"].map(|end| bounds[figure][end].as_u64());
            assert!(low.unwrap() < all, "{bounds}");
            // Beside its million the program has some of libc's. Of what was lost nobody knows the size.
            let is_known = high.is_some_and(|high| (all..all + 100_000).contains(&high));
            assert!(is_known || (lost > 0 && figure == "bytes" && high.is_none()), "{bounds}");
        }
    };
    check(&rows[0]["live_bounds"]);
    let followed = format!("{} blocks were not followed", count(untracked));
    let [table, warning] = shown(&["ps"], &[]);
    assert!(table.contains(if lost > 0 { '≥' } else { '≤' }) && table.contains("≥0 B"), "{table}");
    assert!(warning.contains(&followed), "{warning}");
    let live = place.path("live.hst");
    let [_, warning] = shown(&["snapshot", "holds_many"], &[Path::new("-o"), &live]);
    assert!(warning.contains(" are live: ") && warning.contains(&followed), "{warning}");
    check(&Report::of(&live).json["bounds"]);
    drop(record.stdin.take());
    assert!(record.wait().unwrap().success());
}

/// "Events lost: 0." was said of a trace whose `record` was killed, and the rest of it was not named.
#[test]
fn an_unfinished_trace_says_where_the_rest_is() {
    let place = Place::new();
    let worker = Worker::new(&place, &place.compile("worker.c"), 1, FOR_EVER);
    let (mut started, trace) = (worker.at_work(), worker.run.trace());
    until("a part of the trace", || fs::metadata(&trace).is_ok_and(|file| file.len() > 1 << 16));
    let reported = || {
        let output = heapscribe().arg("report").arg(&trace).output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    worker.signal(Signal::STOP);
    let [_, hints] = reported();
    assert!(hints.contains(&format!("process {} is still writing it", started.pid())), "{hints}");
    started.signal(Signal::KILL);
    started.child.wait().unwrap();
    worker.kill();
    let [text, hints] = reported();
    assert!(text.contains("Events lost: at least 0, as the end of the trace is missing"), "{text}");
    let bounds = &Report::of(&trace).json["bounds"];
    for figure in ["allocations", "frees", "peak", "leaked"] {
        assert!(bounds[figure]["bytes"]["high"].is_null() && bounds[figure].is_object(), "{bounds}");
    }
    let command = hints.split_once("join both: heapscribe ").expect(&hints).1.trim();
    let words: Vec<&str> = command.split(' ').collect();
    let ["recover", left, "-o", "ALL.hst"] = words[..] else { panic!("{hints}") };
    assert!(left.ends_with(&format!(".{}.0", started.pid())), "{hints}");
    let (whole, _) = recovered(&place, Path::new(left), &trace, 1);
    assert!(whole.json["bounds"].is_null() && whole.json["complete"] == true);
}

/// "Nothing was recorded: the program is static or setuid" was said of what a killed agent had kept, and what is recorded
/// was not named.
#[test]
fn a_trace_without_any_event_is_not_a_program_without_calls() {
    let place = Place::new();
    let trace = place.path("kept.hst");
    let mut agent = heapscribe();
    agent.arg("agent").arg("-o").arg(place.path("windows")).arg("--keep-trace").arg(&trace);
    agent.args(["--window", "1h", "--", "sh", "-c"]).arg("echo running; read end");
    let mut agent = agent.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut running = [0; 7];
    std::io::Read::read_exact(agent.stdout.as_mut().unwrap(), &mut running).unwrap();
    agent.kill().unwrap();
    agent.wait().unwrap();
    let output = heapscribe().arg("report").arg(&trace).output().unwrap();
    let [text, hints] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(text.contains("The trace was not finished, was cut or is damaged"), "{text}");
    assert!(text.contains("Events lost: at least 0") && !text.contains("setuid"), "{text}");
    let (_, command) = hints.split_once("join both: heapscribe recover ").expect(&hints);
    let base = Path::new(command.split(' ').next().unwrap());
    drop(agent.stdin.take());
    assert!(base.join("plan").is_file(), "{hints}");
    until("its program has ended", || {
        let recovered = heapscribe()
            .arg("recover")
            .arg(base)
            .arg("-o")
            .arg(place.path("all.hst"))
            .arg("--force")
            .output();
        recovered.unwrap().status.success() && !base.exists()
    });
}
