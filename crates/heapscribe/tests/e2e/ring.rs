//! `record --ring` and `--last`: the newest part is kept, all else is counted, and neither the disk nor the
//! drainer grows with the length of the run.
//!
//! `HEAPSCRIBE_KILLS_OF_RECORD` says how often a recording is killed; `xtask campaign kill` sets it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::{Counted, Place, Random, Report, Run, heapscribe, lives, times, until};
use heapscribe_formats::model::SessionInfo;
use heapscribe_formats::{Scratch, Trace, Writer};
use rustix::process::Signal;

const RING_BYTES: u64 = 1 << 20;

/// Bytes of the files in a directory; files that go meanwhile do not count.
fn bytes_in(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Bytes of a trace and the ring that it is made of. Sizes are asked for one after the other while files go and
/// others grow, which would count twice what moves in between: only a look counts during which the trace has not
/// grown. `None` when there was none.
fn taken(trace: &Path, ring: &Path) -> Option<u64> {
    let bytes_of_trace = || fs::metadata(trace).map_or(0, |meta| meta.len());
    let look = |_| {
        let (before, of_ring) = (bytes_of_trace(), bytes_in(ring));
        (bytes_of_trace() == before).then_some(before + of_ring)
    };
    (0..3).filter_map(look).min()
}

/// What the report says was let go.
fn evicted(report: &Report, what: &str) -> u64 {
    report.json["ring"][what].as_u64().unwrap_or(0)
}

fn is_unharmed(report: &Report) {
    assert_eq!(report.code, 0, "{}", report.stderr);
    assert_eq!(report.dropped("total"), 0, "{:?}", report.reasons());
}

/// Checks that the chunks of each thread are there one after the other; how many there are.
fn assert_contiguous(trace: &Path) -> usize {
    let trace = Trace::open(fs::read(trace).unwrap()).unwrap();
    assert!(trace.is_complete(), "{:?}", trace.problems());
    let mut last: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for chunk in trace.chunks() {
        let before = last.insert((chunk.process.0, chunk.info.thread), chunk.info.sequence);
        assert!(before.is_none_or(|n| n + 1 == chunk.info.sequence), "{before:?} before {:?}", chunk.info);
    }
    trace.chunks().len()
}

/// A worker whose log is many times the ring's size.
fn worker<'a>(place: &'a Place, rounds: &str, options: &[&str]) -> Run<'a> {
    let program = place.compile("worker.c");
    let counts = place.path("counts");
    Run::new(place, program)
        .args(["-j", "3", "-n", rounds])
        .env("COUNTS", counts)
        .options(["--keep-killed", "0"])
        .options(options)
}

#[test]
fn a_long_run_leaves_its_newest_part_within_the_budget() {
    let place = Place::new();
    let run = worker(&place, "400000", &["--ring", "1MiB"]);
    let (ring, trace) = (place.path("run.hst.ring"), run.trace());
    let mut started = run.start();
    let mut most = 0;
    while started.child.try_wait().unwrap().is_none() {
        most = most.max(taken(&trace, &ring).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!((RING_BYTES / 2..=RING_BYTES).contains(&most), "{most} bytes at most");
    assert!(!ring.exists());
    assert!(fs::metadata(&trace).unwrap().len() <= RING_BYTES);

    let report = Report::of(&trace);
    is_unharmed(&report);
    let (kept, gone) = (report.calls().all(), evicted(&report, "calls"));
    let counted = Counted::read(&place.path("counts")).calls.all();
    assert!((counted..counted + 100).contains(&(kept + gone)), "{kept} + {gone} of {counted}");
    assert!(gone > 2 * kept, "{gone} let go, {kept} kept");
    assert!(assert_contiguous(&trace) > 3);
    // All that was allocated and freed, kept or not, adds up to what is live at the end.
    let figure = |key: &str| report.json[key].as_u64().unwrap() + evicted(&report, key);
    let left = figure("bytes_allocated") - figure("bytes_freed");
    assert!(left < 100_000, "{left} bytes left");
    let steps = report.json["timeline"]["steps"].as_array().unwrap();
    let heap = |step: &serde_json::Value| step["heap_max_bytes"].as_u64().unwrap();
    assert!(steps.iter().map(heap).rfind(|bytes| *bytes > 0).unwrap() >= left);
    assert_eq!(steps.last().unwrap()["heap_end_bytes"], 0, "the process has ended");
    // What is live is told by a table beside the events.
    let kept = Trace::open(fs::read(&trace).unwrap()).unwrap();
    let live = &kept.processes()[0].live;
    assert_eq!(live.len(), 1);
    let mut bytes = 0;
    let read = kept.blocks(kept.processes()[0].index, &live[0], &mut Scratch::default(), |block| {
        bytes += block.size_bytes;
    });
    assert!(read.unwrap().is_empty());
    assert_eq!(bytes, left);
    let memory = report.json["drainer"]["peak_rss_bytes"].as_u64().unwrap();
    assert!(memory < 64 << 20, "the drainer took {memory} bytes");
}

/// What `heapscribe` makes of a trace with these arguments, and the report of that.
fn rewritten(place: &Place, trace: &Path, arguments: &[&str]) -> (String, Option<Report>) {
    let out = place.path("rewritten.hst");
    let ended = heapscribe().args(arguments).arg(trace).arg("-o").arg(&out).output().unwrap();
    let report = out.exists().then(|| Report::of(&out));
    let _ = fs::remove_file(&out);
    (String::from_utf8(ended.stderr).unwrap(), report)
}

/// The tables of what was live were left out: a peak of 828,774 bytes became one of 12,034 in 0 blocks, unmarked.
#[test]
fn a_ring_that_is_redacted_or_sampled_has_what_it_had() {
    let place = Place::new();
    let run = worker(&place, "400000", &["--ring", "1MiB"]);
    assert_eq!(run.recorded().code, 0);
    let trace = run.trace();
    let report = Report::of(&trace);
    let figures = ["ring", "bytes_allocated", "bytes_freed", "peak", "leaked"];
    for figure in figures {
        assert!(!report.json[figure].is_null(), "{figure}");
    }
    let (_, redacted) = rewritten(&place, &trace, &["redact"]);
    for figure in figures {
        assert_eq!(redacted.as_ref().unwrap().json[figure], report.json[figure], "{figure}");
    }
    // A sample of nearly all words has all blocks of some bytes.
    let (_, sampled) = rewritten(&place, &trace, &["subsample", "--rate", "1"]);
    let sampled = sampled.unwrap();
    assert_eq!(sampled.json["ring"], report.json["ring"]);
    let leaked = |report: &Report| report.json["leaked"]["bytes"].as_f64().unwrap();
    assert!(
        (leaked(&sampled) / leaked(&report) - 1.0).abs() < 0.1,
        "{} {}",
        leaked(&sampled),
        leaked(&report)
    );
    // A part that has evicted events is refused, and named is one that has none.
    let (error, none) = rewritten(&place, &trace, &["subsample", "--to", "90%"]);
    assert!(none.is_none(), "{error}");
    assert!(error.contains("the ring evicted events before") || error.contains("no ranges"), "{error}");
    let from = error.split('`').nth(1).and_then(|hint| hint.strip_prefix("--from "));
    if let Some(from) = from {
        let (error, part) = rewritten(&place, &trace, &["subsample", "--from", from]);
        let part = part.unwrap_or_else(|| panic!("{error}"));
        assert!(part.json["ring"].is_null() && part.calls().all() < report.calls().all());
    }
}

/// Whether a ring has counted events that it does not keep any more.
fn has_evicted(ring: &Path) -> bool {
    let mut files = fs::read_dir(ring).into_iter().flatten().flatten();
    files.any(|entry| entry.file_name().to_string_lossy().starts_with("past."))
}

#[test]
fn the_last_moments_are_kept_and_what_was_before_is_not() {
    let place = Place::new();
    // Long enough for something to be old, on any machine.
    let run = worker(&place, "1000000000", &["--last", "300ms"]);
    let started = run.start();
    until("the first calls", || Counted::read(&place.path("counts")).calls.all() > 0);
    let ring = place.path("run.hst.ring");
    until("something is too old", || has_evicted(&ring));
    let pid = Counted::read(&place.path("counts")).pid;
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
    assert_eq!(started.wait().code, 128 + 9);
    let report = Report::of(&run.trace());
    is_unharmed(&report);
    let (kept, gone) = (report.calls().all(), evicted(&report, "calls"));
    let counted = Counted::read(&place.path("counts")).calls.all();
    assert!(gone > 0 && kept > 0);
    assert!(kept + gone + 3 >= counted, "{kept} + {gone} of {counted}");
    assert_contiguous(&run.trace());
    let until_ns = evicted(&report, "until_ns");
    let end_ns = report.json["duration_ns"].as_u64().unwrap();
    assert!(end_ns - until_ns >= 300_000_000, "kept from {until_ns} to {end_ns}");
}

/// Files of a ring are evicted as a whole, and chunks are long: what is older is cut off in the end.
#[test]
fn what_is_older_than_the_last_moments_is_cut_off() {
    let place = Place::new();
    let program = place.compile("silent.c");
    let run = Run::new(&place, program).options(["--last", "100ms"]);
    assert_eq!(run.recorded().code, 0);
    let report = Report::of(&run.trace());
    is_unharmed(&report);
    assert_eq!((report.calls().all(), evicted(&report, "calls")), (1, 2001));
    assert_eq!(evicted(&report, "allocations"), 1001);
    assert_eq!(report.json["leaked"]["bytes"], 2030);
    assert_eq!(report.json["peak"]["bytes"], 2030);
    let end_ns = report.processes()[0]["end_ns"].as_u64().unwrap();
    let kept_ns = end_ns - evicted(&report, "until_ns");
    // A busy machine is late by some.
    assert!((100_000_000..150_000_000).contains(&kept_ns), "{kept_ns} ns are there");
    assert_contiguous(&run.trace());
}

/// What is in the ring of a killed `record`, in what is left of the sessions, and what the program counted.
fn kill_record(place: &Place, after: Duration) -> (u64, u64, u64) {
    let sessions = Place::new();
    let _ = fs::remove_file(place.path("counts"));
    let dir = sessions.path("");
    let run = worker(place, "300000", &["--ring", "1MiB", "--session-dir", dir.to_str().unwrap()]);
    let counted = || Counted::read(&place.path("counts"));
    let mut started = run.start();
    until("the first calls", || counted().calls.all() > 0);
    std::thread::sleep(after);
    started.signal(Signal::KILL);
    started.child.wait().unwrap();
    until("the worker's end", || !lives(counted().pid));
    assert!(counted().is_done, "the program was harmed");

    let ring = place.path("run.hst.ring");
    if run.trace().exists() {
        // The program was faster: its trace was being made of the ring already, or was made.
        let _ = fs::remove_dir_all(&ring);
        fs::remove_file(run.trace()).unwrap();
        return kill_record(place, after / 2);
    }
    assert!(bytes_in(&ring) <= RING_BYTES, "{} bytes", bytes_in(&ring));
    let in_place = Report::of(&ring);
    assert_eq!(in_place.dropped("total"), 0);
    let recover = |from: &Path, to: &Path, flags: &[&str]| recover(&dir, from, to, flags);
    let collect = |from: &Path, to: &str, flags: &[&str]| {
        let to = place.path(to);
        let (code, said) = recover(from, &to, flags);
        assert_eq!(code, Some(3), "{said}");
        (Report::of(&to), said)
    };
    let left = fs::read_dir(&dir).unwrap().next().expect("a session directory is left").unwrap().path();
    let (code, said) = recover(&left, &place.path("rest.hst"), &[]);
    if said.contains("there is no session in") {
        // It had taken all that the program left, and was about to make a trace of the ring: nothing is missing.
        let to = place.path("ring.hst");
        let (code, said) = recover(&ring, &to, &[]);
        assert!(code == Some(0) && Report::of(&to).calls() == in_place.calls(), "{said}");
        return (in_place.calls().all() + evicted(&in_place, "calls"), 0, counted().calls.all());
    }
    assert!(code == Some(1) && said.contains(&format!("heapscribe recover {}", ring.display())), "{said}");
    // It told to join what cannot be joined, and printed how to write it alone after that.
    let command = format!("`heapscribe recover {} --rest-only -o REST.hst`", left.display());
    assert_eq!(said.contains(&command), evicted(&in_place, "events") > 0, "{said}");
    let earlier = sessions_of_an_earlier_ring(&left);
    let (collected, said) = collect(&ring, "ring.hst", &[]);
    assert!(said.contains(&format!("what `record` had not written is in {};", left.display())), "{said}");
    // "`heapscribe recover DIR --rest-only`" was printed, which lacks a file to write to.
    assert!(said.contains(&command), "{said}");
    assert!(!said.contains(earlier.to_str().unwrap()), "of another recording: {said}");
    fs::remove_dir_all(earlier).unwrap();
    assert!(!ring.exists());
    assert_eq!(collected.calls(), in_place.calls());
    if evicted(&collected, "events") > 0 {
        let of_ring = place.path("ring.hst");
        let (code, said) = recover(&left, &place.path("rest.hst"), &["--join", of_ring.to_str().unwrap()]);
        assert!(code == Some(1) && said.contains("lacks the first events of its recording"), "{said}");
    }
    let (rest, _) = collect(&left, "rest.hst", &["--rest-only"]);
    assert!(rest.json["rest"].is_object() && rest.json["bounds"]["allocations"]["bytes"]["high"].is_null());
    (collected.calls().all() + evicted(&collected, "calls"), rest.calls().all(), counted().calls.all())
}

/// What `heapscribe recover` of a session or a ring says, and its exit code.
fn recover(sessions: &Path, from: &Path, to: &Path, flags: &[&str]) -> (Option<i32>, String) {
    let mut command = heapscribe();
    command.arg("recover").arg(from).arg("--force").arg("-o").arg(to).args(flags);
    let output = command.env("XDG_RUNTIME_DIR", sessions).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// What a recording left that was to be at the same path before this one.
fn sessions_of_an_earlier_ring(left: &Path) -> PathBuf {
    let earlier = left.with_extension("1");
    let copied = Command::new("cp").arg("-a").arg(left).arg(&earlier).status().unwrap();
    assert!(copied.success());
    let info = SessionInfo { started_mono_ns: 1, ..SessionInfo::default() };
    let mut origin = Vec::new();
    Writer::new().start(&info, &mut origin);
    fs::write(earlier.join("origin"), origin).unwrap();
    earlier
}

#[test]
fn kill_of_record_with_a_ring() {
    let (place, mut random) = (Place::new(), Random::new());
    let rounds = times("HEAPSCRIBE_KILLS_OF_RECORD", 1);
    let mut missing = 0;
    for _ in 0..rounds {
        let (ring, rest, counted) = kill_record(&place, Duration::from_micros(random.below(400_000)));
        missing += counted.saturating_sub(ring + rest);
    }
    println!(
        "kill ring: {rounds} of {rounds} targets unharmed, rings and rests read, {missing} calls missing"
    );
    assert_eq!(missing, 0);
}

/// A shell whose children come and go: what is left of most of them is a number.
#[test]
fn a_family_that_comes_and_goes_is_counted() {
    let place = Place::new();
    let program = place.compile("worker.c");
    let script = format!("for i in 1 2 3 4 5 6 7 8; do {} -j 1 -n 60000; done", program.display());
    let run = Run::new(&place, "sh").args(["-c", &script]).env("COUNTS", place.path("counts"));
    let run = run.options(["--ring", "1MiB"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    is_unharmed(&report);
    let gone = evicted(&report, "processes");
    let children = report.processes().iter().filter(|p| p["exe"].as_str().unwrap().ends_with("worker"));
    let kept = children.count() as u64;
    assert!(gone > 0 && kept > 0, "{gone} gone, {kept} kept");
    // A child of the shell is two images: forked, and exec'd.
    assert!(gone + kept >= 8, "{gone} gone, {kept} kept");
    assert!(ended.stderr.contains("ring: ") && ended.stderr.contains("ring: evicted "), "{}", ended.stderr);
}

/// It evicted all events and did not say that there was no room for any. What is live is told all the same.
#[test]
fn a_ring_full_of_stacks_says_so() {
    let place = Place::new();
    let program = place.compile("random_paths.c");
    let run = Run::new(&place, &program).args(["50000"]).options(["--ring", "1MiB"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let said = ended.stderr.lines().find(|line| line.contains("ring: stacks, modules and names took "));
    let larger = said.and_then(|line| line.split("--ring ").nth(1)?.split(' ').next());
    let report = Report::of(&run.trace());
    assert_eq!((report.calls().all(), report.json["leaked"]["blocks"].as_u64()), (0, Some(16_667)));
    let shown = heapscribe().arg("report").arg(run.trace()).arg("--full").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("None are left: stacks, modules and names took the room"), "{shown}");
    let hotspots = heapscribe().arg("hotspots").arg(run.trace()).output().unwrap();
    let warned = String::from_utf8(hotspots.stderr).unwrap();
    assert!(warned.contains("the ring has evicted "), "{warned}");
    // The one that it tells to take has room for a part of the events at least.
    let larger = larger.unwrap_or_else(|| panic!("{}", ended.stderr));
    let run = Run::new(&place, &program).args(["50000"]).options(["--ring", larger]);
    let ended = run.recorded();
    assert!(ended.code == 0 && !ended.stderr.contains("ring: stacks, modules"), "{}", ended.stderr);
    assert!(Report::of(&run.trace()).calls().all() > 25_000);
}

/// Its stacks took more than half of a ring that was larger than they are, and it was evicted at its end: nothing was left
/// but a sum, where smaller and larger rings had all stacks.
#[test]
fn the_only_process_is_not_evicted_at_its_end() {
    let place = Place::new();
    let program = place.compile("random_paths.c");
    for (paths, ring) in [(40_000, "1MiB"), (60_000, "1MiB"), (70_000, "2MiB")] {
        let script = format!("{} {paths}; true", program.display());
        let run = Run::new(&place, "sh").args(["-c", &script]).options(["--ring", ring]);
        let ended = run.recorded();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let report = Report::of(&run.trace());
        let of_program = |one: &&serde_json::Value| one["exe"].as_str().unwrap().ends_with("random_paths");
        assert_eq!(
            report.processes().iter().filter(of_program).count(),
            1,
            "{paths} {ring}: {}",
            ended.stderr
        );
        let leaked = report.json["leaked"]["blocks"].as_u64().unwrap();
        assert!((paths / 3..paths / 3 + 200).contains(&leaked), "{paths} {ring}: {leaked} blocks");
        let has_frames = |stack: &serde_json::Value| stack["frames"].as_array().unwrap().len() > 16;
        let stacks = report.json["stacks"].as_array().unwrap();
        assert!(stacks.iter().filter(|stack| has_frames(stack)).count() > 10, "{paths} {ring}");
        assert!(!report.json["stacks"].to_string().contains("[stack not in the trace]"), "{paths} {ring}");
    }
}

/// What is live at the end is in a table, of samples too: `check` was undecided on leaks as soon as an event was evicted.
#[test]
fn a_sampled_ring_knows_its_leaks() {
    let place = Place::new();
    let run = worker(&place, "400000", &["--ring", "1MiB", "--sample", "256"]);
    assert_eq!(run.recorded().code, 0);
    assert!(evicted(&Report::of(&run.trace()), "events") > 0);
    for (rule, code) in [("--max-leaked=1GiB", 0), ("--max-leaked=0", 4), ("--max-peak=1GiB", 3)] {
        let rules = [rule, "--count-runtime"];
        let ended = heapscribe().arg("check").arg(run.trace()).args(rules).output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{rule}: {}", String::from_utf8_lossy(&ended.stdout));
    }
}
