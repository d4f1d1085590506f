//! Figures beside losses: however a part of a recording is lost, each figure is the truth or says between what the truth
//! lies. The program knows the truth.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{SeekFrom, seek};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cut_short::with_files_of;
use crate::disk::Tmpfs;
use crate::kill::{left_behind, printed};
use crate::support::{Place, Report, Started, heapscribe, lives, may_mount_or_skip, until};

const FOR_EVER: &str = "1000000000";
/// What may be between a call and the program's own count of it, when it is killed: a block of 2,000 bytes.
const BLOCKS: u64 = 1;
const BYTES: u64 = 2000;

/// What the program knows, see `programs/knows.c`.
#[derive(Debug)]
struct Truth {
    pid: u64,
    is_done: bool,
    allocations: [u64; 2],
    frees: [u64; 2],
    peak_bytes: u64,
}

impl Truth {
    fn of(place: &Place) -> Truth {
        let bytes = fs::read(place.path("truth")).unwrap_or_default();
        let word =
            |n: usize| bytes.get(8 * n..8 * n + 8).map_or(0, |w| u64::from_le_bytes(w.try_into().unwrap()));
        Truth {
            pid: word(0),
            is_done: word(1) == 1,
            allocations: [word(2), word(3)],
            frees: [word(4), word(5)],
            peak_bytes: word(6),
        }
    }

    /// Each figure with its name: blocks, if they are known, and bytes.
    fn figures(&self) -> [(&'static str, Option<u64>, u64); 4] {
        let [blocks, bytes] = [0, 1].map(|i| self.allocations[i] - self.frees[i]);
        [
            ("allocations", Some(self.allocations[0]), self.allocations[1]),
            ("frees", Some(self.frees[0]), self.frees[1]),
            ("leaked", Some(blocks), bytes),
            ("peak", None, self.peak_bytes),
        ]
    }
}

/// Lowest and highest of a figure: those of its bounds, or it itself where it has none.
fn range(report: &Value, figure: &str, what: &str) -> (u64, u64) {
    let bounds = &report["bounds"][figure][what];
    if bounds.is_object() {
        return (bounds["low"].as_u64().unwrap_or(0), bounds["high"].as_u64().unwrap_or(u64::MAX));
    }
    let exact = match (figure, what) {
        ("allocations", "blocks") => &report["allocations"],
        ("allocations", _) => &report["bytes_allocated"],
        ("frees", "blocks") => &report["frees"],
        ("frees", _) => &report["bytes_freed"],
        _ => &report[figure][what],
    };
    let exact = exact.as_u64().unwrap_or_else(|| panic!("no {figure} in {report}"));
    (exact, exact)
}

/// Each figure of a trace holds the truth; whether all are exact.
#[track_caller]
fn holds_the_truth(trace: &Path, place: &Place) -> bool {
    let (report, truth) = (Report::of(trace).json, Truth::of(place));
    let mut is_exact = true;
    let mut check = |figure, what, true_value: u64, unsure: u64| {
        let (low, high) = range(&report, figure, what);
        is_exact &= low == high;
        assert!(
            low <= true_value + unsure && true_value <= high.saturating_add(unsure),
            "{figure} of {true_value} {what}: between {low} and {high}; {}, {}",
            report["dropped"],
            report["bounds"]
        );
    };
    for (figure, blocks, bytes) in truth.figures() {
        if let Some(blocks) = blocks {
            check(figure, "blocks", blocks, BLOCKS);
        }
        check(figure, "bytes", bytes, BYTES);
    }
    let has_rule = !is_exact && !report["bounds"]["peak"]["bytes"]["high"].is_u64();
    if has_rule {
        let mut command = heapscribe();
        command.arg("check").arg(trace).args(["--max-peak", "1GiB"]);
        assert_eq!(
            command.output().unwrap().status.code(),
            Some(3),
            "a peak that nobody knows is below a limit"
        );
    }
    is_exact
}

/// The program under `record` with these options, limits before it and rounds.
fn record(place: &Place, limited: impl Fn(&[&Path]) -> Command, options: &[&Path], rounds: &str) -> Started {
    let _ = fs::remove_file(place.path("truth"));
    let (bin, trace) = (heapscribe(), place.path("run.hst"));
    let words =
        [Path::new(bin.get_program()), Path::new("record"), Path::new("--force"), Path::new("-o"), &trace];
    let mut command = limited(&[&words, options].concat());
    command.arg("--").arg(place.path("knows")).arg(rounds).env("TRUTH", place.path("truth"));
    Started::new(command, place, "recorded")
}

fn plainly(words: &[&Path]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

fn compiled() -> Place {
    let place = Place::new();
    place.compile("knows.c");
    place
}

/// Lets it end, and gives what was printed of it.
#[track_caller]
fn ends(place: &Place, started: Started) -> String {
    let ended = started.wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "done\n"), "{}", ended.stderr);
    assert!(Truth::of(place).is_done);
    ended.stderr
}

#[test]
fn whole_dropped_and_cut() {
    let place = compiled();
    let said = ends(&place, record(&place, plainly, &[], "150000"));
    assert!(said.lines().skip(1).count() <= 5, "a summary of more than five lines: {said}");
    assert!(holds_the_truth(&place.path("run.hst"), &place), "nothing was lost");

    let drop = ["--when-full", "drop", "--log-chunks", "2"].map(Path::new);
    let started = record(&place, plainly, &drop, "600000");
    until("it allocates", || Truth::of(&place).allocations[0] > 1000);
    started.signal(Signal::STOP);
    until("it has allocated more", || Truth::of(&place).allocations[0] > 200_000);
    started.signal(Signal::CONT);
    ends(&place, started);
    assert!(!holds_the_truth(&place.path("run.hst"), &place), "a stopped `record` has lost nothing");

    ends(&place, record(&place, |words| with_files_of(1 << 20, words), &[], "1000000"));
    assert!(!holds_the_truth(&place.path("run.hst"), &place), "all has found its place");
}

#[test]
fn without_room_for_sessions() {
    if !may_mount_or_skip("mount") {
        return;
    }
    let place = compiled();
    for (size, is_exact) in [("300k", false), ("64m", true)] {
        let disk = Tmpfs::new(&place, size);
        ends(&place, record(&place, plainly, &[Path::new("--session-dir"), &disk.at], "150000"));
        assert_eq!(holds_the_truth(&place.path("run.hst"), &place), is_exact, "{size}");
        drop(disk);
        fs::remove_dir(place.path("tmpfs")).unwrap();
    }
}

/// A `record` that was killed when it had written something, and then its program; and the sessions.
fn both_killed(place: &Place, sessions: &Place, options: &[&str], written: &Path) -> PathBuf {
    let (at, dir) = (sessions.path(""), Path::new("--session-dir"));
    let _ = fs::remove_file(written);
    let options: Vec<&Path> = options.iter().map(Path::new).chain([dir, &at]).collect();
    let mut started = record(place, plainly, &options, FOR_EVER);
    until("a part is written", || bytes_at(written) > 1 << 17);
    started.signal(Signal::KILL);
    started.child.wait().unwrap();
    let truth = Truth::of(place);
    until("it goes on", || Truth::of(place).allocations[0] > truth.allocations[0] + 20_000);
    kill_process(Pid::from_raw(truth.pid as i32).unwrap(), Signal::KILL).unwrap();
    until("it has ended", || !lives(truth.pid as u32));
    left_behind(&at, started.pid())
}

/// Bytes of a file, or of all in a directory.
fn bytes_at(path: &Path) -> u64 {
    match fs::read_dir(path) {
        Ok(entries) => {
            entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
        }
        Err(_) => fs::metadata(path).map_or(0, |file| file.len()),
    }
}

#[test]
fn parts_of_what_was_killed() {
    let place = compiled();
    let (trace, rest) = (place.path("run.hst"), place.path("rest.hst"));
    for is_joined in [true, false] {
        let sessions = Place::new();
        let left = both_killed(&place, &sessions, &[], &trace);
        let cleaned = printed(&["ps", "--clean", "--session-dir"], &[&sessions.path("")], 0);
        assert!(cleaned.contains(&format!("heapscribe recover {} -o", left.display())), "{cleaned}");
        assert!(!holds_the_truth(&trace, &place), "it was not finished");
        if is_joined {
            printed(&["recover", "-o"], &[&trace, &left], 0);
            assert!(holds_the_truth(&trace, &place), "all is there");
        } else {
            printed(&["recover", "--rest-only", "-o"], &[&rest, &left], 3);
            assert!(!holds_the_truth(&rest, &place), "a part of it is elsewhere");
        }
    }
}

/// What was cut off a table of live blocks passed for holes: "Never freed: 0 bytes in 0 blocks" of 4 MB, which `check`
/// held. The blocks of a damaged one were believed: 258 TiB.
#[test]
fn rests_whose_table_cannot_be_read() {
    let place = compiled();
    let (trace, rest) = (place.path("run.hst"), place.path("rest.hst"));
    for (options, is_cut) in [(&[][..], true), (&[], false), (&["--sample", "2KiB"], true)] {
        let sessions = Place::new();
        let left = both_killed(&place, &sessions, options, &trace);
        let session =
            fs::read_dir(&left).unwrap().flatten().map(|entry| entry.path()).find(|path| path.is_dir());
        let session = session.unwrap();
        let live = fs::OpenOptions::new().write(true).open(session.join("live")).unwrap();
        if is_cut {
            live.set_len(100).unwrap();
            let mut snapshot = heapscribe();
            snapshot.arg("snapshot").arg(&session).arg("-o").arg(place.path("now.hst"));
            let refused = String::from_utf8(snapshot.output().unwrap().stderr).unwrap();
            assert!(refused.contains("live: the file ends at byte 100,"), "{refused}");
            assert!(refused.contains("\nhint: `heapscribe recover` writes"), "{refused}");
        } else {
            damage(&live);
        }
        printed(&["recover", "--rest-only", "--force", "-o"], &[&rest, &left], 3);
        assert!(!holds_the_truth(&rest, &place), "what was live is not known");
        let said = printed(&["report"], &[&rest], 3).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("Never freed: unknown"), "{said}");
        assert!(said.contains("the live blocks are not known: "), "{said}");
        assert!(!said.contains("only what is live counts them"), "{said}");
        let rules = ["check", "--max-leaked", "1TiB", "--max-peak", "1TiB", "--max-temporary", "99999999999"];
        let said = printed(&rules, &[&rest], 3);
        let decided =
            |line: &&str| ["between ", "at most ", "exactly"].iter().any(|words| line.contains(words));
        assert_eq!(said.lines().find(decided), None, "a figure of which nothing is known: {said}");
    }
}

/// Fills the middle of each part of the file, with blocks whose sizes are nowhere. Of the last part alone it was where no
/// block is, on a busy machine.
fn damage(live: &fs::File) {
    let (mut parts, mut at) = (Vec::new(), 0);
    while let Ok(begin) = seek(live, SeekFrom::Data(at)) {
        at = seek(live, SeekFrom::Hole(begin)).unwrap();
        parts.push((begin + at) / 2 / 4096 * 4096);
    }
    for middle in parts.into_iter().filter(|middle| *middle > 0) {
        live.write_all_at(&[0xff; 4096], middle).unwrap();
    }
}

#[test]
fn rings() {
    let place = compiled();
    let options = ["--ring", "1MiB"];
    ends(&place, record(&place, plainly, &options.map(Path::new), "600000"));
    holds_the_truth(&place.path("run.hst"), &place);

    let (sessions, ring) = (Place::new(), place.path("run.hst.ring"));
    fs::remove_file(place.path("run.hst")).unwrap();
    let left = both_killed(&place, &sessions, &options, &ring);
    let [of_ring, rest] = ["ring.hst", "rest.hst"].map(|name| place.path(name));
    // 3 where `record` was killed within the write of a block: it says at which byte.
    let recovered = heapscribe().args(["recover", "-o"]).args([&of_ring, &ring]).output().unwrap();
    let said = String::from_utf8(recovered.stderr).unwrap();
    let code = if said.contains("the file ends within a block at byte") { 3 } else { 0 };
    assert_eq!(recovered.status.code(), Some(code), "{said}");
    assert!(!holds_the_truth(&of_ring, &place), "the rest is elsewhere");
    printed(&["recover", "--rest-only", "-o"], &[&rest, &left], 3);
    assert!(!holds_the_truth(&rest, &place), "the ring is elsewhere");
}
