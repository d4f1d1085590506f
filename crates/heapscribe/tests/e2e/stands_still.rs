//! A `record` that stands still: the program waits for it, or drops events when it was told to.

use std::fs;
use std::time::Instant;

use crate::kill::{FOR_EVER, Worker};
use crate::support::{Place, Report, TIME_LIMIT, until};
use heapscribe_wire::limits::CHUNK_PAYLOAD_BYTES;
use rustix::process::Signal;

/// So often a program that waits gives its core away until it counts as standing still.
const LOOKS: u64 = 100;

/// How often the threads of a process have given their core away by themselves.
fn switches(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_thread = |entry: fs::DirEntry| -> Option<u64> {
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    };
    threads.filter_map(of_thread).sum()
}

/// Stops `record`, waits for what the worker does then, and lets `record` go on to the end.
fn stopped(options: &[&str], wait: impl FnOnce(&Worker<'_>)) -> Report {
    let place = Place::new();
    let program = place.compile("worker.c");
    let mut worker = Worker::new(&place, &program, 2, FOR_EVER);
    worker.run = worker.run.options(options);
    let started = worker.at_work();
    started.signal(Signal::STOP);
    wait(&worker);
    worker.finish();
    started.signal(Signal::CONT);
    let ended = started.wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "work done\n"), "{}", ended.stderr);
    let report = Report::of(&worker.run.trace());
    let all = worker.counted().calls.all();
    let told = report.calls().all() + report.dropped("total");
    assert!((all..all + 100).contains(&told), "{told} recorded or dropped of {all}");
    report
}

#[test]
fn waits_for_a_record_that_stands_still() {
    let report = stopped(&["--when-full", "wait", "--log-chunks", "2"], |worker| {
        // It looks again and again whether it may go on, and makes no call between: by its own steps and
        // not by the clock, which goes on when the machine gives it no core.
        let mut before = (worker.counted().calls, switches(worker.counted().pid));
        until("the worker stands still", || {
            let now = worker.counted();
            assert!(!now.is_done, "it did not wait: {now:?}");
            if now.calls != before.0 {
                before = (now.calls, switches(now.pid));
            }
            switches(now.pid) > before.1 + LOOKS
        });
    });
    report.assert_whole(&["stack_no_info"]);
}

#[test]
fn does_not_wait_when_told_to_drop() {
    // More events than there are bytes in two chunks of each thread.
    const TOO_MANY: u64 = 2 * 2 * CHUNK_PAYLOAD_BYTES as u64;
    let report = stopped(&["--when-full", "drop", "--log-chunks", "2"], |worker| {
        let before = worker.counted().calls.all();
        until("the worker goes on", || worker.counted().calls.all() > before + TOO_MANY);
    });
    assert!(report.dropped("log_full") > 0);
}

/// A `record` that stands still for longer than the program waits: it goes on, and what has no room is lost and
/// counted. It does not write chunks out itself, since `record` may wake up in the middle of reading one.
#[test]
#[ignore = "takes the 10 s that a program waits for a sign of life"]
fn goes_on_without_a_record_that_stands_still_for_long() {
    let place = Place::new();
    let program = place.compile("worker.c");
    let mut worker = Worker::new(&place, &program, 2, "3000000");
    worker.run = worker.run.options(["--log-chunks", "2"]);
    let started = worker.at_work();
    started.signal(Signal::STOP);
    let began = Instant::now();
    until("the worker's end", || worker.counted().is_done);
    assert!(began.elapsed() < TIME_LIMIT);
    started.signal(Signal::CONT);
    let ended = started.wait();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&worker.run.trace());
    assert!(report.dropped("log_full") > 0);
    let (all, told) = (worker.counted().calls.all(), report.calls().all() + report.dropped("total"));
    assert!((all..all + 100).contains(&told), "{told} recorded or dropped of {all}");
}
