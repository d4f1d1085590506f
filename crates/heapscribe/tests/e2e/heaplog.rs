//! `libpreloaded_heaptrack.so`: its log says each call, in an order in which each address has one block at a time,
//! and the program does not notice.
//!
//! | what went wrong in heaphook | test |
//! |---|---|
//! | 10 a free is logged after the block is gone; failed calls count as heap | `each_address_has_one_block_at_a_time`, `calls_and_their_lines` |
//! | 11 errno is lost, a handler waits for its own thread | `handlers` in `heaps` |
//! | 12 a child writes into its parent's log | `each_process_and_each_program_has_its_own` |
//! | 13 lines are lost at a wrap, the program waits for the log, gcc hangs at its end | `what_is_counted_is_logged`; programs in `heaps` |
//! | the program's file gets the log's lines | `descriptors` |
//! | a directory that can not be written ends the program | `without_a_log_the_program_goes_on` |

use std::collections::HashMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;

use crate::support::libraries::{HEAPTRACK, Libraries, TLSF};
use crate::support::{has, heapscribe};

/// A line of either form: what became of which address.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    name: &'a str,
    old: u64,
    size: u64,
    new: u64,
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

fn read(line: &str) -> Line<'_> {
    let fields: Vec<&str> = line.split(if line.contains(',') { ", " } else { " " }).collect();
    let n = |at: usize| number(fields[at]);
    let (old, size, new) = match (fields[0], fields.len()) {
        ("free" | "malloc_usable_size", 4) => (n(1), n(2), 0),
        ("realloc", 4 | 5) => (n(1), n(2), n(3)),
        ("dealloc", 3) => (n(1), 0, 0),
        ("alloc", 5) => (0, n(1), n(3)),
        ("alloc_zeroed", 4) => (0, n(1), n(2)),
        ("get_block_size", 4) => (n(1), n(2), 0),
        (_, 4) => (0, n(2), n(1)),
        _ => panic!("no line: {line:?}"),
    };
    Line { name: fields[0], old, size, new }
}

/// The lines of a log of which each block is one at a time, and how many blocks are left.
#[track_caller]
fn consistent(log: &str) -> (Vec<Line<'_>>, usize) {
    assert!(log.ends_with('\n'));
    let lines: Vec<Line<'_>> = log.lines().map(read).collect();
    let mut live: HashMap<u64, u64> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        if matches!(line.name, "malloc_usable_size" | "get_block_size") {
            assert!(live.contains_key(&line.old), "line {at}: {line:?}");
            continue;
        }
        if line.old != 0 {
            assert!(live.remove(&line.old).is_some(), "line {at}: no block goes: {line:?}");
        }
        if line.new != 0 {
            assert!(live.insert(line.new, line.size).is_none(), "line {at}: a block is there: {line:?}");
        }
    }
    (lines, live.len())
}

/// Over the pool heap, too, where a thread gets what another has just freed.
#[test]
fn each_address_has_one_block_at_a_time() {
    let all = Libraries::new();
    for libraries in [&[HEAPTRACK][..], &[HEAPTRACK, TLSF]] {
        for format in ["calls", "csv"] {
            let mut command = all.mode("threads", libraries);
            command.env("HEAPLOG_FORMAT", format);
            all.must(command);
            let log = all.log();
            let (lines, left) = consistent(&log);
            assert!(lines.len() > 4 * 6000 * 2 && left < 50, "{} lines, {left} left", lines.len());
            assert!(log.lines().all(|line| line.contains(',') == (format == "csv")));
            let mut command = all.mode("passing", libraries);
            command.env("HEAPLOG_FORMAT", format);
            all.must(command);
            let log = all.log();
            assert!(consistent(&log).0.len() >= 4 * 60_000 * 2);
        }
    }
}

#[test]
fn calls_and_their_lines() {
    let all = Libraries::new();
    all.must(all.mode("fails", &[HEAPTRACK]));
    let log = all.log();
    let (lines, _) = consistent(&log);
    assert!(lines.iter().all(|line| line.size < 1 << 50), "what failed has no size");
    let found = |name: &str| log.lines().filter(|line| *line == name).count();
    assert_eq!(
        ["malloc 0 0 0", "calloc 0 0 0", "aligned_alloc 0 0 0", "posix_memalign 0 0 0", "free 0 0 0"]
            .map(found),
        [1; 5]
    );
    let names =
        |size| lines.iter().filter(|line| line.size == size).map(|line| line.name).collect::<Vec<_>>();
    assert_eq!(
        (names(21), names(70000), names(6666)),
        (vec!["calloc"], vec!["realloc"], vec!["aligned_alloc"])
    );
    let moved = lines.iter().find(|line| line.size == 70000).unwrap();
    assert!(lines.contains(&Line { name: "realloc", old: moved.new, size: 0, new: 0 }));
}

/// Every call, also when the log goes over many windows; under musl, whose `calloc` calls `malloc`, once.
#[test]
fn what_is_counted_is_logged() {
    let all = Libraries::new();
    let musl = all.musl_mode("many", &[HEAPTRACK]);
    for command in [Some(all.mode("many", &[HEAPTRACK])), musl].into_iter().flatten() {
        all.must(command);
        let log = all.log();
        let (lines, _) = consistent(&log);
        assert_eq!(lines.iter().filter(|line| line.size == 123).count(), 200_000);
    }
    if let Some(command) = all.musl_mode("fails", &[HEAPTRACK]) {
        all.must(command);
        let log = all.log();
        let (lines, _) = consistent(&log);
        let names: Vec<_> = lines.iter().filter(|line| line.size == 21).map(|line| line.name).collect();
        assert_eq!(names, ["calloc"]);
        assert_eq!(lines.iter().filter(|line| line.size == 6666).count(), 1);
    }
}

#[test]
fn each_process_and_each_program_has_its_own() {
    let all = Libraries::new();
    let said = all.must(all.mode("child", &[HEAPTRACK])).stdout;
    let child = said.split_whitespace().next().unwrap();
    let mut logs = all.logs();
    let of_child = logs.remove(child).unwrap();
    let sizes = |log: &str| [1111, 2222, 3333].map(|size| log.contains(&format!(" {size} 0\n")));
    assert_eq!(sizes(&of_child), [false, true, false]);
    assert_eq!(logs.values().map(|log| sizes(log)).collect::<Vec<_>>(), [[true, false, true]]);
    // A shell that becomes another program, one that does not find it, and one that was here before.
    let mut command = all.command("/bin/sh", &[HEAPTRACK]);
    command.args(["-c", "echo $$; exec expr 1 + 1"]);
    let pid = all.run(command).stdout.lines().next().unwrap().to_owned();
    let logs = all.logs();
    assert_eq!(logs.keys().collect::<Vec<_>>(), [&pid, &format!("{pid}.1")]);
    assert!(logs.values().all(|log| log.starts_with("malloc 0x") && log.ends_with('\n')), "{logs:?}");
    let mut command = all.command("/bin/sh", &[HEAPTRACK]);
    command.args(["-c", "command exec /nonesuch/program 2>/dev/null; a=1; b=$a$a; echo $b"]);
    all.run(command);
    assert!(all.logs().values().all(|log| log.ends_with('\n')));
}

/// What was written is there; behind it are zeros.
#[test]
fn a_program_that_is_killed_leaves_all_its_lines() {
    let all = Libraries::new();
    let status = all.mode("killed", &[HEAPTRACK]).status().unwrap();
    assert_eq!(status.signal(), Some(9));
    let log = all.log();
    let log = log.trim_end_matches('\0');
    let (lines, _) = consistent(log);
    assert_eq!(lines.iter().filter(|line| line.size == 4444).count(), 5000);
    assert_eq!(lines.last().unwrap().size, 5555);
}

#[test]
fn descriptors() {
    let all = Libraries::new();
    let mut command = all.mode("descriptors", &[HEAPTRACK]);
    command.arg(all.place.path("victim.db"));
    all.must(command);
    assert_eq!(fs::read(all.place.path("victim.db")).unwrap(), b"DATA");
    let log = all.log();
    let (lines, _) = consistent(&log);
    assert_eq!(lines.iter().filter(|line| line.size == 77).count(), 30_000);
}

#[test]
fn without_a_log_the_program_goes_on() {
    let all = Libraries::new();
    let run = |directory: &str, shell: &str| {
        let program = all.mode("many", &[]).get_program().to_owned();
        let mut command = all.command("/bin/sh", &[]);
        command.args(["-c", shell]).arg(program).env("HEAPLOG_DIR", directory);
        command.env("LIBRARY", all.path(HEAPTRACK));
        all.run(command)
    };
    // Nowhere to write.
    let ended = run("/proc", "LD_PRELOAD=$LIBRARY exec \"$0\" many");
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "ok\n"));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("/proc/heaplog.") && ended.stderr.contains("there is no log"));
    // No room for all; the kernel would send SIGXFSZ.
    let logs = all.place.path("logs");
    let ended = run(logs.to_str().unwrap(), "ulimit -f 2000; LD_PRELOAD=$LIBRARY exec \"$0\" many");
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "ok\n"));
    assert!(
        ended.stderr.contains("ends here") && ended.stderr.contains("lines are missing"),
        "{}",
        ended.stderr
    );
    let log = all.log();
    let (lines, _) = consistent(&log);
    let missing: u64 =
        ended.stderr.split_whitespace().filter_map(|word| word.parse().ok()).next_back().unwrap();
    assert!(lines.len() > 10_000 && lines.len() as u64 + missing > 400_000, "{} and {missing}", lines.len());
    // A format that there is not.
    let ended = run(logs.to_str().unwrap(), "HEAPLOG_FORMAT=xml LD_PRELOAD=$LIBRARY exec \"$0\" aligned");
    assert_eq!(ended.stderr, "heapscribe: HEAPLOG_FORMAT=xml is neither calls nor csv; calls is used\n");
    consistent(&all.log());
}

/// By our own reader, under which a program's log is whole.
#[test]
fn reports_read_it() {
    if !has("ls") {
        return;
    }
    let all = Libraries::new();
    for format in ["calls", "csv"] {
        let mut command = all.mode("threads", &[HEAPTRACK, TLSF]);
        command.env("HEAPLOG_FORMAT", format).env_remove("HEAPLOG_DIR");
        all.must(command);
        let logs = fs::read_dir(all.place.path("")).unwrap().map(|entry| entry.unwrap().path());
        let log = logs.into_iter().find(|path| path.extension().is_some_and(|e| e == "log")).unwrap();
        let output = heapscribe().args(["report", "--json"]).arg(&log).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let told = &report["heaphook"];
        for what in ["replaced", "late", "unknown_frees", "unknown_reallocs", "zeros_at_end"] {
            assert_eq!(told[what], 0, "{what}: {told}");
        }
        fs::remove_file(log).unwrap();
    }
}
