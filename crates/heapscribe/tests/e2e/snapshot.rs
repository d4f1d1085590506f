//! Looking into running, stuck and dead processes: what a snapshot says was live at one instant, readers
//! that die, programs that die.
//!
//! `HEAPSCRIBE_SNAPSHOTS` and `HEAPSCRIBE_READER_KILLS` say how often; the campaigns of xtask set them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::support::{Place, Random, Run, Started, has, heapscribe, lives, skip, times, until};
use heapscribe_formats::{LiveBlock, LiveTable, Scratch, Trace};
use heapscribe_wire::head::HOLD_OFFSET;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

const KEPT: u64 = 500;
const SERIALS: u64 = 4096;
const BASE_BYTES: u64 = 100;
const THREADS: usize = 4;

/// A program that keeps blocks, recorded into a place of its own.
struct Keeper<'a> {
    place: &'a Place,
    started: Started,
    pid: u32,
}

impl Drop for Keeper<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = kill_process_group(self.started.pid(), Signal::KILL);
        }
    }
}

impl<'a> Keeper<'a> {
    fn start(place: &'a Place) -> Keeper<'a> {
        let dir = place.path("sessions");
        fs::create_dir(&dir).unwrap();
        let program = place.compile("keep.c");
        let started = Run::new(place, program)
            .options(["--log-chunks", "1024", "--session-dir"])
            .options([&dir])
            .start();
        until("the program is ready", || started.said().0.contains("ready"));
        let pid = ps(&dir)[0]["pid"].as_u64().unwrap() as u32;
        let keeper = Keeper { place, started, pid };
        until("all threads keep their blocks", || {
            let kept = keeper.snapshot().kept();
            kept.len() == THREADS && kept.values().all(|serials| serials.len() as u64 >= KEPT - 1)
        });
        keeper
    }

    fn dir(&self) -> PathBuf {
        self.place.path("sessions")
    }

    fn command(&self, output: &Path) -> Command {
        let mut command = heapscribe();
        command.args(["snapshot", "keep", "--force", "-o"]).arg(output).arg("--session-dir").arg(self.dir());
        command
    }

    fn snapshot(&self) -> Snapshot {
        let output = self.place.path("live.hst");
        let ended = self.command(&output).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        Snapshot::read(&output)
    }

    /// The first that says that it is of one instant, and is.
    fn exact_snapshot(&self) -> Snapshot {
        let mut found = None;
        until("a snapshot is of one instant", || {
            found = Some(self.snapshot()).filter(Snapshot::is_of_one_instant);
            found.is_some()
        });
        found.inspect(Snapshot::assert_is_of_one_instant).unwrap()
    }

    /// Waits for its end; its code.
    fn wait(mut self) -> i32 {
        self.started.child.wait().map_or(-1, |status| status.code().unwrap_or(128 + 9))
    }

    fn kill(&self) {
        kill_process(Pid::from_raw(self.pid as i32).unwrap(), Signal::KILL).unwrap();
    }
}

fn ps(dir: &Path) -> Vec<Value> {
    let output = heapscribe().args(["ps", "--json", "--session-dir"]).arg(dir).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a snapshot says.
struct Snapshot {
    table: LiveTable,
    blocks: Vec<LiveBlock>,
}

impl Snapshot {
    fn read(path: &Path) -> Snapshot {
        let trace = Trace::open(fs::read(path).unwrap()).unwrap();
        assert_eq!(trace.problems(), []);
        let [process] = trace.processes() else { panic!("one process") };
        let [table] = &process.live[..] else { panic!("one table") };
        let mut blocks = Vec::new();
        let read = trace.blocks(process.index, table, &mut Scratch::default(), |block| blocks.push(*block));
        assert_eq!(read.unwrap(), []);
        Snapshot { table: table.clone(), blocks }
    }

    /// The serial numbers of each thread's blocks.
    fn kept(&self) -> BTreeMap<u32, Vec<u64>> {
        let mut kept: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let main = self.blocks.iter().map(|block| block.thread.0).min();
        for block in self.blocks.iter().filter(|block| Some(block.thread.0) != main) {
            kept.entry(block.thread.0).or_default().push(block.size_bytes - BASE_BYTES);
        }
        kept
    }

    /// Whether it says that it is of one instant: it need not be where a processor has so much to do that a
    /// thread stands still within an operation, or the reader for longer than threads let themselves be held.
    fn is_of_one_instant(&self) -> bool {
        let because = self.table.inexact.as_str();
        let reasons = ["is stuck inside an allocation", "threads were running while the table was copied"];
        assert!(because.is_empty() || reasons.iter().any(|reason| because.ends_with(reason)), "{because}");
        because.is_empty()
    }

    /// Checks that what each thread keeps is what its last operations have left, none of them by half; and
    /// that what all threads had counted is what is there.
    fn assert_is_of_one_instant(&self) {
        let kept = self.kept();
        let blocks = kept.iter().map(|(thread, serials)| (*thread, serials.len())).collect::<Vec<_>>();
        assert_eq!(kept.len(), THREADS, "{blocks:?}");
        kept.values().for_each(|serials| assert_serial(serials));
        let t = &self.table;
        assert_eq!(t.allocated_blocks - t.freed_blocks, self.blocks.len() as u64);
        let bytes: u64 = self.blocks.iter().map(|block| block.size_bytes).sum();
        assert_eq!(t.allocated_bytes - t.freed_bytes, bytes);
    }
}

/// The numbers follow each other without a gap: all that are kept, or one less between a free and a malloc.
fn assert_serial(serials: &[u64]) {
    let n = serials.len() as u64;
    assert!(n == KEPT || n == KEPT - 1, "{n} blocks");
    let mut is_there = vec![false; SERIALS as usize];
    for &serial in serials {
        assert!(!std::mem::replace(&mut is_there[serial as usize], true), "{serial} is there twice");
    }
    let gaps = (0..SERIALS as usize).filter(|&i| is_there[i] && !is_there[(i + 1) % SERIALS as usize]);
    assert_eq!(gaps.count(), 1, "{n} blocks are no run of serial numbers");
}

#[test]
fn each_snapshot_is_of_a_serial_history() {
    let place = Place::new();
    let keeper = Keeper::start(&place);
    for _ in 0..times("HEAPSCRIBE_SNAPSHOTS", 8) {
        keeper.exact_snapshot();
    }
    keeper.kill();
    assert_eq!(keeper.wait(), 128 + 9);
}

#[test]
fn two_readers_at_once_see_one_instant_each() {
    let place = Place::new();
    let keeper = Keeper::start(&place);
    for _ in 0..2 {
        let paths = ["a.hst", "b.hst", "c.hst"].map(|name| place.path(name));
        let start = |path: &PathBuf| keeper.command(path).stderr(Stdio::null()).spawn().unwrap();
        let readers = paths.each_ref().map(start);
        for (mut reader, path) in readers.into_iter().zip(&paths) {
            assert!(reader.wait().unwrap().success());
            let snapshot = Snapshot::read(path);
            if snapshot.is_of_one_instant() {
                snapshot.assert_is_of_one_instant();
            }
        }
    }
    keeper.kill();
    keeper.wait();
}

#[test]
fn readers_that_are_killed_leave_the_program_and_others_sound() {
    let place = Place::new();
    let keeper = Keeper::start(&place);
    let mut random = Random::new();
    for _ in 0..times("HEAPSCRIBE_READER_KILLS", 20) {
        let mut reader = keeper.command(&place.path("killed.hst")).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        let _ = reader.kill();
        reader.wait().unwrap();
    }
    let freed = |snapshot: &Snapshot| snapshot.table.freed_blocks;
    let before = keeper.exact_snapshot();
    until("the program goes on", || freed(&keeper.snapshot()) > freed(&before));
    keeper.kill();
    assert_eq!(keeper.wait(), 128 + 9);
}

/// A reader that has died while it held, at the worst moment there is.
#[test]
fn a_hold_that_nobody_takes_back_ends() {
    use std::os::unix::fs::FileExt;
    let place = Place::new();
    let keeper = Keeper::start(&place);
    let session = PathBuf::from(ps(&keeper.dir())[0]["session"].as_str().unwrap());
    let head = fs::OpenOptions::new().read(true).write(true).open(session.join("head")).unwrap();
    let hold = || {
        let mut word = [0; 4];
        head.read_exact_at(&mut word, HOLD_OFFSET as u64).unwrap();
        u32::from_le_bytes(word)
    };
    head.write_all_at(&7u32.to_le_bytes(), HOLD_OFFSET as u64).unwrap();
    until("threads take the hold away", || hold() == 0);
    head.write_all_at(&8u32.to_le_bytes(), HOLD_OFFSET as u64).unwrap();
    keeper.exact_snapshot();
    keeper.kill();
    keeper.wait();
}

/// `record` and the program are killed: the session stays, and can be looked into.
#[test]
fn a_dead_process_can_be_looked_into() {
    let place = Place::new();
    let keeper = Keeper::start(&place);
    keeper.started.signal(Signal::KILL);
    keeper.kill();
    until("it is gone", || !lives(keeper.pid));
    let sessions = ps(&keeper.dir());
    let [row] = &sessions[..] else { panic!("{sessions:?}") };
    assert_eq!((row["alive"].as_bool(), row["pid"].as_u64()), (Some(false), Some(keeper.pid.into())));
    let output = place.path("dead.hst");
    let take = |wanted: &str| -> Output {
        let mut command = heapscribe();
        command
            .args(["snapshot", wanted, "--force", "-o"])
            .arg(&output)
            .arg("--session-dir")
            .arg(keeper.dir());
        command.output().unwrap()
    };
    let session = row["session"].as_str().unwrap();
    let base = Path::new(session).parent().unwrap().to_str().unwrap();
    for wanted in [session, base, "keep", &keeper.pid.to_string()] {
        let ended = take(wanted);
        assert!(ended.status.success(), "{wanted}: {ended:?}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("shows its last state"));
        let kept = Snapshot::read(&output).kept();
        assert_eq!(kept.len(), THREADS);
        // A thread that was killed within realloc has its block in neither place.
        kept.values().for_each(|serials| assert!(serials.len() as u64 >= KEPT - 1));
    }
    let report = heapscribe().arg("report").arg(session).output().unwrap();
    let said = String::from_utf8_lossy(&report.stdout);
    assert!(said.contains("The process had ended; this is its last state."), "{said}");
}

#[test]
fn contents_are_a_file_for_each_block() {
    let place = Place::new();
    let keeper = Keeper::start(&place);
    let contents = place.path("contents");
    let take = || keeper.command(&place.path("live.hst")).arg("--contents").arg(&contents).output().unwrap();
    let ended = take();
    assert!(ended.status.success(), "{ended:?}");
    let snapshot = Snapshot::read(&place.path("live.hst"));
    for block in &snapshot.blocks {
        let path = contents.join(format!("{:#x}", block.address.0));
        assert_eq!(fs::metadata(&path).unwrap().len(), block.size_bytes, "{}", path.display());
    }
    assert_eq!(fs::read_dir(&contents).unwrap().count(), snapshot.blocks.len());
    let again = take();
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("is not empty"));
    keeper.kill();
    keeper.wait();
}

/// What `go tool pprof` says that a profile adds up to, of this sample type.
fn pprof_total(profile: &Path, sample: &str, unit: &str) -> u64 {
    let mut command = Command::new("go");
    command.args(["tool", "pprof", "-top", "-nodefraction=0", &format!("-sample_index={sample}")]);
    let output = command.arg(format!("-unit={unit}")).arg(profile).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let total = said.split("Total samples = ").nth(1).unwrap_or_else(|| panic!("{output:?}"));
    total.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn pprof_adds_up_to_what_we_say() {
    if !has("go") {
        return skip("go is not there, so nobody but us has read our profiles");
    }
    let place = Place::new();
    let keeper = Keeper::start(&place);
    keeper.started.signal(Signal::KILL);
    keeper.kill();
    until("it is gone", || !lives(keeper.pid));
    let take = |name: &str, more: &[&str]| {
        let path = place.path(name);
        assert!(keeper.command(&path).args(more).output().unwrap().status.success());
        path
    };
    let snapshot = Snapshot::read(&take("live.hst", &[]));
    let bytes: u64 = snapshot.blocks.iter().map(|block| block.size_bytes).sum();
    for (name, more) in [("a.pb", &[][..]), ("b.pb.gz", &[]), ("c.pb", &["--by-block"])] {
        let profile = take(name, more);
        assert_eq!(pprof_total(&profile, "allocated", "bytes"), bytes, "{name}");
        assert_eq!(pprof_total(&profile, "objects", "count"), snapshot.blocks.len() as u64, "{name}");
    }
}
