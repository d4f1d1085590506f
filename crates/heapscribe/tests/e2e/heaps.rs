//! The heap libraries under programs: those that CI has do as they do without, and what went wrong in heaphook's
//! libraries goes right. Each of its bugs has a test here that fails on its cause; those of its log are in
//! `heaplog`, those that need a heap alone in `heapscribe-conformance/tests/heaphook.rs`.
//!
//! | what went wrong there | test |
//! |---|---|
//! | 1 a map of aligned blocks without a lock: SEGV with threads | `threads` |
//! | 2 realloc of an aligned block shifts its contents | `realigned` |
//! | 3 a forked child waits for a lock of its parent's | `forks` |
//! | 4 malloc(2^56) crashes; growth that can not be had loops | `impossible`, `a_pool_that_is_full` |
//! | 5 growth holds up all threads | `heapscribe-conformance` |
//! | 6 a wake-up is missed when threads begin at once | `start` |
//! | 7 blocks at no multiple of 16 | `aligned` |
//! | 8 pvalloc rounds wrongly; 13 calls itself | `pages` |
//! | 9 realloc never shrinks | `shrinks` |
//! | 10, 12, 13 of the log | `heaplog` |
//! | 11 errno is lost, a handler waits for its own thread | `handlers` |
//! | INITIAL_MEMPOOL_SIZE=abc hangs, 1300000000 crashes | `sizes_of_pools` |
//! | ADDITIONAL_MEMPOOL_SIZE=0 crashes when the pool is full | `a_pool_that_is_full` |
//! | the program's file gets the log's lines | `descriptors` in `heaplog` |

use std::fs;
use std::process::Command;
use std::sync::LazyLock;

use crate::support::libraries::{ALL, HEAPTRACK, Libraries, ORIGINAL, TLSF};
use crate::support::{Started, has, heapscribe, skip};

fn check(mode: &str, libraries: &[&str]) {
    let all = Libraries::new();
    for library in libraries {
        all.must(all.mode(mode, &[library]));
        if let Some(command) = all.musl_mode(mode, &[library]) {
            all.must(command);
        }
    }
}

#[test]
fn threads() {
    check("threads", &ALL);
}

#[test]
fn realigned() {
    check("realigned", &ALL);
}

#[test]
fn forks() {
    check("forks", &[HEAPTRACK, TLSF]);
}

/// A child that is forked while another thread starts the heap waited for that thread, with signals held back.
#[test]
fn forks_while_the_heap_starts() {
    let all = Libraries::new();
    for _ in 0..16 {
        all.must(all.mode("forks_at_start", &[TLSF]));
        if let Some(command) = all.musl_mode("forks_at_start", &[TLSF]) {
            all.must(command);
        }
    }
}

#[test]
fn impossible() {
    check("impossible", &ALL);
}

#[test]
fn start() {
    check("start", &ALL);
}

#[test]
fn aligned() {
    check("aligned", &ALL);
}

#[test]
fn pages() {
    check("pages", &ALL);
}

#[test]
fn shrinks() {
    check("shrinks", &ALL);
}

/// In front of libc's heap a handler asks for nothing: that heap is not made for it.
#[test]
fn handlers() {
    let all = Libraries::new();
    all.must(all.mode("handlers", &[HEAPTRACK]));
    let mut allocating = all.mode("handlers", &[TLSF]);
    allocating.arg("allocates");
    all.must(allocating);
}

#[test]
fn a_pool_that_is_full() {
    let all = Libraries::new();
    for growth in ["0", "1"] {
        let mut command = all.mode("exhausted", &[TLSF]);
        command.env("INITIAL_MEMPOOL_SIZE", "10000000").env("ADDITIONAL_MEMPOOL_SIZE", growth);
        command.env("HEAPSCRIBE_POOL_MAX", "12000000");
        all.must(command);
    }
}

/// The kernel gave the lock from each thread that waited to the next: 8 threads took 6.5 s in place of 0.2, with a change
/// of threads for every second call.
#[test]
fn a_crowd_does_not_queue_for_every_call() {
    let all = Libraries::new();
    for cache in ["0", "65536"] {
        let mut command = all.mode("crowd", &[TLSF]);
        command.env("HEAPSCRIBE_POOL_CACHE", cache);
        all.must(command);
    }
}

#[test]
fn sizes_of_pools() {
    let all = Libraries::new();
    let run = |variable: &str, value: &str| {
        let mut command = all.mode("aligned", &[TLSF]);
        command.env("HEAPSCRIBE_POOL_PREFAULT", "no").env(variable, value);
        let ended = all.run(command);
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "ok\n"), "{variable}={value}");
        ended.stderr
    };
    for variable in ["INITIAL_MEMPOOL_SIZE", "ADDITIONAL_MEMPOOL_SIZE"] {
        for value in ["abc", "-1", "1e9", "64MiB", "99999999999999999999"] {
            let line = format!("heapscribe: {variable}={value} is no size in bytes; 100000000 is used\n");
            assert_eq!(run(variable, value), line);
        }
        for value in ["1000000", "1300000000", "3000000000"] {
            assert_eq!(run(variable, value), "", "{variable}={value}");
        }
    }
    // Ours are read as the command line reads them.
    for (value, is_size) in [("1000k", true), ("1.5MiB", true), ("1MB", true), ("1e9", false), ("", false)] {
        let line = format!("heapscribe: HEAPSCRIBE_POOL={value} is no size in bytes; 20000000 is used\n");
        assert_eq!(run("HEAPSCRIBE_POOL", value), if is_size { "" } else { &line });
    }
    // Pages that no machine has are not asked of it: the kernel would kill programs for them, ours first.
    let mut command = all.mode("aligned", &[TLSF]);
    command.env("HEAPSCRIBE_POOL", "16TiB");
    let ended = all.run(command);
    let line =
        "heapscribe: a pool of 17592186044416 bytes can not be had; the program keeps the heap that it has\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (0, line));
    let line = run("INITIAL_MEMPOOL_SIZE", "9000000000000000000");
    assert!(line.contains("can not be had; the program keeps the heap that it has"), "{line}");
}

/// A program, by a line of shell; what it needs.
const PROGRAMS: [(&str, &str); 6] = [
    ("ls -laR /usr/include", "ls"),
    ("for i in 1 2 3; do echo \"$i $(expr $i + 1)\" | tr 1 x; done; (exit 3) || echo $?", "sh"),
    (
        "python3 -c 'import json, subprocess, threading\n\
         d = [{\"a\": i, \"b\": str(i) * 3} for i in range(2000)]\n\
         t = [threading.Thread(target=json.dumps, args=(d,)) for _ in range(3)]\n\
         [x.start() for x in t]; [x.join() for x in t]\n\
         print(len(json.dumps(d)), subprocess.check_output([\"echo\", \"hello\"]))'",
        "python3",
    ),
    (
        "printf '#include <stdio.h>\\nint main(void) { return puts(\"hello\"); }' | gcc -S -O2 -x c - -o -",
        "gcc",
    ),
    (
        "sqlite3 :memory: 'create table t(a); with recursive c(x) as (select 1 union all select x+1 from c \
         where x < 20000) insert into t select x from c; select sum(a) from t;'",
        "sqlite3",
    ),
    (
        "perl -e 'my %h = map { $_ => [1..9] } 1..9999; print scalar(keys %h), qq(\\n); fork or exit; wait'",
        "perl",
    ),
];

#[test]
fn programs_do_as_they_do_without() {
    let all = Libraries::new();
    for (line, needs) in PROGRAMS {
        if !has(needs) {
            skip(format_args!("{needs} is not there"));
            continue;
        }
        let run = |libraries: &[&str]| {
            let mut command = all.command("/bin/sh", libraries);
            command.args(["-c", line]).env("PYTHONMALLOC", "malloc");
            let ended = all.run(command);
            (ended.code, ended.stdout, ended.stderr)
        };
        let plain = run(&[]);
        assert_eq!(plain.0, 0, "{line}: {plain:?}");
        for libraries in [&[HEAPTRACK][..], &[TLSF], &[ORIGINAL], &[HEAPTRACK, TLSF]] {
            assert!(run(libraries) == plain, "{line} under {libraries:?}: {:?}", run(libraries));
        }
    }
}

static PLACED: LazyLock<Libraries> = LazyLock::new(Libraries::new);

fn libs(args: &[&str]) -> (i32, String, String) {
    let mut command = heapscribe();
    command.arg("libs").args(args).current_dir(PLACED.place.path(""));
    let ended = Started::new(command, &PLACED.place, "libs").wait();
    (ended.code, ended.stdout, ended.stderr)
}

#[test]
fn what_is_not_ours_is_not_overwritten() {
    let directory = PLACED.place.path("other");
    let (code, said, _) = libs(&["other"]);
    assert_eq!(code, 0);
    for name in ALL {
        assert!(said.contains(name) && directory.join(name).is_file(), "{said}");
    }
    assert_eq!(libs(&["other"]).0, 0, "ours may be placed again");
    let theirs = directory.join(TLSF);
    fs::write(&theirs, "theirs").unwrap();
    fs::remove_file(directory.join(HEAPTRACK)).unwrap();
    let (code, _, stderr) = libs(&["other"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("is not a heapscribe library") && stderr.contains("--force"), "{stderr}");
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    assert!(!directory.join(HEAPTRACK).exists(), "all or none");
    let (code, json, _) = libs(&["other", "--force", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, told["libraries"][1]["name"].as_str()), (0, Some(TLSF)));
    let placed = fs::metadata(&theirs).unwrap().len();
    assert_eq!(told["libraries"][1]["bytes"], placed);
    assert!(Command::new("true").env("LD_PRELOAD", &theirs).status().unwrap().success());
}
