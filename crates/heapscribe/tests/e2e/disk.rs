//! No room, no rights, no /dev/shm: the program goes on unharmed and prints what it prints, `record` says what is
//! missing, and what could be written can be read.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{
    Counted, Ended, Place, Report, Run, Started, has, heapscribe, may_mount_or_skip, own_calls, skip,
};

/// A file system in memory of a given size, gone at the end of the test.
pub(crate) struct Tmpfs {
    pub(crate) at: PathBuf,
}

impl Tmpfs {
    pub(crate) fn new(place: &Place, size: &str) -> Tmpfs {
        let at = place.path("tmpfs");
        std::fs::create_dir(&at).unwrap();
        let options = format!("size={size},mode=0700");
        let status =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(&at).status().unwrap();
        assert!(status.success(), "tmpfs can not be mounted");
        Tmpfs { at }
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

const NO_ROOM: &str = "there was no room for its session";

/// How often an error is told.
pub(crate) fn errors(said: &str) -> usize {
    said.lines().filter(|line| line.contains("error:")).count()
}

#[track_caller]
pub(crate) fn assert_unharmed(ended: &Ended) {
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "work done\n"), "{}", ended.stderr);
}

fn worker<'a>(place: &'a Place, rounds: &str) -> Run<'a> {
    let program = place.compile("worker.c");
    // Sizes of all kinds make a trace that does not compress well.
    Run::new(place, program)
        .args(["-j", "2", "-n", rounds, "-s", "1000000"])
        .env("COUNTS", place.path("counts"))
}

fn sessions_in(size: &str) {
    if !may_mount_or_skip("mount") {
        return;
    }
    let place = Place::new();
    let disk = Tmpfs::new(&place, size);
    let run = worker(&place, "50000").options([Path::new("--session-dir"), &disk.at]);
    let ended = run.recorded();
    assert_unharmed(&ended);
    let report = Report::of(&run.trace());
    let counted = Counted::read(&place.path("counts")).calls.all();
    let told = report.calls().all() + report.dropped("total");
    let is_whole = (counted..counted + 100).contains(&told);
    let is_refused = report.calls().all() == 0 && ended.stderr.contains(NO_ROOM);
    assert!(is_whole || is_refused, "{told} of {counted}, {:?}: {}", report.reasons(), ended.stderr);
    println!(
        "{size}: {} of {counted} calls, {:?}, {} errors told",
        report.calls().all(),
        report.reasons(),
        errors(&ended.stderr)
    );
}

#[test]
fn sessions_in_16_kib() {
    sessions_in("16k");
}

#[test]
fn sessions_in_64_kib() {
    sessions_in("64k");
}

#[test]
fn sessions_in_300_kib() {
    sessions_in("300k");
}

#[test]
fn sessions_in_1_mib() {
    sessions_in("1m");
}

#[test]
fn sessions_in_4_mib() {
    sessions_in("4m");
}

/// Many processes and no room: `record` says it. Their standard error is theirs.
#[test]
fn refused_programs_print_nothing_of_ours() {
    if !may_mount_or_skip("mount") {
        return;
    }
    let place = Place::new();
    let disk = Tmpfs::new(&place, "64k");
    let (program, printed) = (place.compile("life_fork.c"), place.path("printed"));
    let script = format!("exec 2> {}; exec {} storm", printed.display(), program.display());
    let run = Run::new(&place, "sh").args(["-c", &script]).options([Path::new("--session-dir"), &disk.at]);
    let ended = run.recorded();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "200 of 200 children\n"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(&printed).unwrap(), "");
    assert!(
        ended.stderr.contains("not recorded: ") && ended.stderr.contains("no room for"),
        "{}",
        ended.stderr
    );
    let unrecorded = &Report::of(&run.trace()).json["unrecorded"];
    assert!(unrecorded["count"].as_u64().unwrap() > 0, "{unrecorded}");
}

/// There is room for a part of one chunk, which is full again and again before it is taken out: a program that waited
/// each time would sleep most of its life (`ulc` of the stranger's trial, 31 s in place of 0.06). It sleeps within
/// the budget of the recorder, 1,000 times; then events are lost, and each is counted.
#[test]
fn a_log_without_room_does_not_keep_its_program_waiting() {
    const BUDGET: u64 = 1000;
    if !may_mount_or_skip("mount") {
        return;
    }
    let place = Place::new();
    let disk = Tmpfs::new(&place, "300k");
    let (program, slept) = (place.compile("sleeps.c"), place.path("slept"));
    let sleeps = || std::fs::read_to_string(&slept).unwrap().trim().parse::<u64>().unwrap();
    let run = Run::new(&place, &program).args([&slept]);
    assert_unharmed(&run.plain());
    let alone = sleeps();
    let run = run.env("COUNTS", place.path("counts")).options([Path::new("--session-dir"), &disk.at]);
    let ended = run.recorded();
    assert_unharmed(&ended);
    let report = Report::of(&run.trace());
    let told = report.calls().all() + report.dropped("total");
    let counted = Counted::read(&place.path("counts")).calls.all();
    assert!((counted..counted + 100).contains(&told), "{told} of {counted}, {:?}", report.reasons());
    println!("300k: {} of {counted} calls, {} sleeps", report.calls().all(), sleeps());
    // Besides, it may sleep where it opens files.
    assert!(sleeps() <= alone + BUDGET + 100, "{} sleeps, {alone} when not recorded", sleeps());
    // A `record` that is given a processor at once may take each chunk out in time.
    assert!(report.calls().all() > 0, "{:?}", report.reasons());
    assert_eq!(report.dropped("log_full"), report.dropped("total"));
    assert_eq!(report.code, if report.dropped("total") > 0 { 3 } else { 0 });
}

/// Nothing is recorded, and the program is not run: the command line asked for what can not be.
#[test]
fn places_that_can_not_be_written() {
    let place = Place::new();
    let program = place.compile("says.c");
    for options in [
        ["-o", "/proc/none.hst"],
        ["-o", "/nowhere/none.hst"],
        ["--session-dir", "/nowhere"],
        ["--session-dir", "/proc"],
    ] {
        let mut command = heapscribe();
        command.current_dir(place.path("")).arg("record").args(options).arg("--").arg(&program);
        let ended = Started::new(command, &place, "recorded").wait();
        assert_eq!(
            (ended.code, ended.stdout.as_str(), errors(&ended.stderr)),
            (125, "", 1),
            "{options:?}: {}",
            ended.stderr
        );
        assert!(ended.stderr.contains(options[1]), "{options:?}: {}", ended.stderr);
    }
}

/// Runs a worker where /dev/shm is what the shell command makes of it.
fn with_shm(change: &str) -> (Ended, Report, Counted) {
    let place = Place::new();
    let (program, trace) = (place.compile("worker.c"), place.path("run.hst"));
    let bin = heapscribe().get_program().to_owned();
    let script = format!(
        "{change} && exec {} record -o {} -- {} -n 20000",
        Path::new(&bin).display(),
        trace.display(),
        program.display()
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script]).env("COUNTS", place.path("counts"));
    let ended = Started::new(command, &place, "recorded").wait();
    assert_unharmed(&ended);
    (ended, Report::of(&trace), Counted::read(&place.path("counts")))
}

fn can_unshare() -> bool {
    may_mount_or_skip("unshare")
        && (has("unshare") || {
            skip("no unshare");
            false
        })
}

/// The sessions lie elsewhere, which is said.
#[test]
fn no_dev_shm() {
    if !can_unshare() {
        return;
    }
    for (change, why) in [
        (
            "umount -l /dev/shm && mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3",
            "/dev/shm is missing",
        ),
        ("mount -t tmpfs -o size=64k none /dev/shm", "/dev/shm has less than 1 MiB free, 256 MiB are needed"),
        (
            "mount -t tmpfs -o ro none /dev/shm",
            "no session can be created in /dev/shm: Read-only file system",
        ),
    ] {
        let (ended, report, counted) = with_shm(change);
        assert!(ended.stderr.contains(&format!("warning: {why}; using ")), "{change}: {}", ended.stderr);
        report.assert_whole(&["stack_no_info"]);
        assert!(report.calls().all() >= counted.calls.all());
    }
}

/// Docker's /dev/shm of 64 MiB: another place is taken, and no figure is wrong.
#[test]
fn dev_shm_of_64_mib() {
    if can_unshare() {
        let (ended, report, counted) = with_shm("mount -t tmpfs -o size=64m none /dev/shm");
        let why = "warning: /dev/shm has 64 MiB free, 256 MiB are needed; using ";
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        report.assert_whole(&["stack_no_info"]);
        assert!(report.calls().all() >= counted.calls.all());
    }
}

/// No place but 64 MiB, of which the live table of 480 MiB would take 60, and the program 8 for
/// itself: that is left for it, and no event is lost.
#[test]
fn sessions_beside_the_programs_own_shared_memory() {
    if !may_mount_or_skip("mount") {
        return;
    }
    let place = Place::new();
    let disk = Tmpfs::new(&place, "64m");
    let program = place.compile("shares_room.c");
    let run = Run::new(&place, &program).args([disk.at.join("shared")]).env("COUNTS", place.path("counts"));
    let ended = run.options([Path::new("--session-dir"), &disk.at]).recorded();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "work done\n"), "{}", ended.stderr);
    let report = Report::of(&place.path("run.hst"));
    let reasons: Vec<_> = report.reasons().into_iter().map(|(name, _)| name).collect();
    assert_eq!(reasons, ["live_table", "unknown_block"]);
    assert_eq!(own_calls(&place.path("run.hst"), &program), Counted::read(&place.path("counts")).calls);
}

/// The program's own /proc is not there: it still runs.
#[test]
fn no_proc() {
    if !can_unshare() {
        return;
    }
    let place = Place::new();
    let program = place.compile("worker.c");
    let script = format!("umount -l /proc; exec {} -n 20000", program.display());
    let run =
        Run::new(&place, "unshare").args(["-m", "sh", "-c", &script]).env("COUNTS", place.path("counts"));
    let (plain, recorded) = (run.plain(), run.recorded());
    assert_unharmed(&plain);
    assert_unharmed(&recorded);
}
