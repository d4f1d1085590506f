//! `record --snapshot-at`: snapshots that come by themselves, at a size, by the clock, at peaks.

use std::fs;
use std::path::PathBuf;

use crate::support::{Place, Run, heapscribe, lives, skip, until};
use heapscribe_formats::{Scratch, Trace};

/// The snapshots of a kind beside the trace, by number.
fn snapshots(place: &Place, kind: &str) -> Vec<PathBuf> {
    let mut found: Vec<(u64, PathBuf)> = fs::read_dir(place.path(""))
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name()?.to_str()?.strip_prefix("run.")?.strip_suffix(".hst")?.to_owned();
            let (_pid, name) = name.split_once('.')?;
            let number = name.strip_prefix(kind)?.trim_start_matches('-');
            Some((number.parse().unwrap_or(0), path.clone()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// Bytes of the blocks in a snapshot.
fn live_bytes(path: &PathBuf) -> u64 {
    let trace = Trace::open(fs::read(path).unwrap()).unwrap();
    assert!(trace.is_complete(), "{}: {:?}", path.display(), trace.problems());
    let process = &trace.processes()[0];
    let mut bytes = 0;
    let read = trace.blocks(process.index, &process.live[0], &mut Scratch::default(), |block| {
        bytes += block.size_bytes;
    });
    assert!(read.unwrap().is_empty());
    bytes
}

#[test]
fn snapshots_come_at_sizes_by_the_clock_and_at_peaks() {
    let place = Place::new();
    let program = place.compile("grow.c");
    let wishes = ["live=4MB", "live=8MB", "rss=6MiB", "every=50ms", "peak"];
    let options = wishes.iter().flat_map(|wish| ["--snapshot-at", wish]);
    let go = place.path("go");
    let run = Run::new(&place, program).args([&go]).options(options).options(["--snapshots-kept", "3"]);
    let started = run.start();
    // Of a peak there is another as soon as more is live than a tenth above the last.
    let is_of_the_peak = |path: &PathBuf| live_bytes(path) * 11 / 10 >= 12_000_000;
    until("there are snapshots of each kind", || {
        ["live", "rss", "every"].iter().all(|kind| !snapshots(&place, kind).is_empty())
            && snapshots(&place, "peak").first().is_some_and(is_of_the_peak)
            || !lives(started.child.id())
    });
    fs::write(go, "").unwrap();
    let ended = started.wait();
    assert_eq!(ended.code, 0, "{}", ended.stderr);

    let live = snapshots(&place, "live");
    // Two triggers of a kind number their files together.
    assert_eq!(live.len(), 2, "{live:?}");
    let bytes = [&live[0], &live[1]].map(live_bytes);
    assert!(bytes[0] >= 4_000_000 && bytes[1] >= 8_000_000, "{bytes:?}");
    let rss = snapshots(&place, "rss");
    assert_eq!(rss.len(), 1, "{rss:?}");
    assert!(live_bytes(&rss[0]) > 0);
    // The newest three stay.
    let every = snapshots(&place, "every");
    assert!((1..=3).contains(&every.len()), "{every:?}");
    let peak = snapshots(&place, "peak");
    assert_eq!(peak.len(), 1);
    let highest = live_bytes(&peak[0]);
    assert!(highest <= 12_000_000 && is_of_the_peak(&peak[0]), "{highest} bytes");
    assert!(snapshots(&place, "part").is_empty());
    assert!(ended.stderr.contains("snapshots: "), "{}", ended.stderr);
}

/// Resident memory of a process of one kind, as the kernel counts it, MiB.
fn status_mib(pid: u32, name: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<f64>().unwrap() / 1024.0
}

/// The recorder's files are on /dev/shm, which the program uses for nothing: neither the trigger nor `top` takes them
/// for the program's memory.
#[test]
fn resident_memory_is_without_the_files_of_the_recorder() {
    let place = Place::new();
    let program = place.compile("small_blocks.c");
    let (go, dir) = (place.path("go"), PathBuf::from("/dev/shm"));
    if !dir.is_dir() {
        return skip("there is no /dev/shm");
    }
    let run = Run::new(&place, &program).args([&go]).options([
        "--snapshot-at",
        "rss=52MiB",
        "--snapshot-at",
        "live=1MB",
    ]);
    let started = run.options([PathBuf::from("--session-dir"), dir]).start();
    until("all blocks are there", || started.said().0.contains("ready") || !lives(started.child.id()));
    let said = heapscribe().args(["top", "small_blocks", "--once"]).output().unwrap();
    let screen = String::from_utf8_lossy(&said.stdout).into_owned();
    let pid: u32 = screen.split(['(', ')']).nth(1).and_then(|pid| pid.parse().ok()).expect(&screen);
    let [anonymous, files, shared] = ["RssAnon:", "RssFile:", "RssShmem:"].map(|name| status_mib(pid, name));
    fs::write(go, "").unwrap();
    let ended = started.wait();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let shown =
        screen.split_once("program's RSS ").and_then(|(_, rest)| rest.split_once(" MiB")).expect(&screen).0;
    let shown: f64 = shown.parse().unwrap();
    assert!(shared > 15.0 && anonymous > 35.0, "{anonymous} {files} {shared}");
    assert!((shown - anonymous - files).abs() < 3.0, "{shown}: {anonymous} + {files}, and {shared}");
    assert_eq!((snapshots(&place, "rss").len(), snapshots(&place, "live").len()), (0, 1));
}
