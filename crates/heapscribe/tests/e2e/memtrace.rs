//! `record --format memtrace`: a program's heap in a file of OCaml's memtrace, written while it runs, read
//! by ours and by a reader that shares nothing with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::{Ended, Place, Report, Run, heapscribe, until};
use rustix::process::Signal;

/// The program's phases, all open.
fn phases(place: &Place) -> std::path::PathBuf {
    let steps = place.path("steps");
    std::fs::create_dir(&steps).unwrap();
    (1..=5).for_each(|phase| std::fs::write(steps.join(phase.to_string()), "").unwrap());
    steps
}

fn count(report: &Report, path: &[&str]) -> u64 {
    path.iter().fold(&report.json, |json, key| &json[key]).as_u64().unwrap_or_else(|| panic!("no {path:?}"))
}

#[test]
fn the_same_program_in_both_formats() {
    let place = Place::new();
    let steps = phases(&place);
    let program = place.compile("modes.c");
    let native = Run::new(&place, &program).args([Path::new("phases"), &steps]);
    assert_eq!(native.recorded().code, 0);
    let exact = Report::of(&native.trace());
    let other = Place::new();
    let memtrace = Run::new(&other, &program).args([Path::new("phases"), &steps]);
    let memtrace = memtrace.options(["--format", "memtrace"]);
    let Ended { code, stdout, stderr, .. } = memtrace.recorded();
    assert_eq!((code, stdout.as_str()), (0, "sum 650000\n"), "{stderr}");
    let told = Report::of(&memtrace.trace());
    for key in [&["allocations"][..], &["peak", "blocks"], &["leaked", "blocks"]] {
        assert_eq!(count(&told, key), count(&exact, key), "{key:?}");
    }
    // memtrace counts in words of 8 bytes.
    let (words, bytes) = (count(&told, &["bytes_allocated"]), count(&exact, &["bytes_allocated"]));
    assert!((bytes..bytes + 8 * count(&exact, &["allocations"])).contains(&words), "{words} {bytes}");
    assert_eq!(by_stack(&told), by_stack(&exact));
    read_by_script(&memtrace.trace());
}

/// Blocks of each stack: handed out, freed, and left at the end. A stack is its functions' names.
fn by_stack(report: &Report) -> BTreeMap<String, [u64; 3]> {
    let name = |frame: &serde_json::Value| {
        let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let in_file =
            || format!("{}+{}", file(frame["module"].as_str().unwrap()), frame["offset"].as_str().unwrap());
        frame["function"].as_str().map_or_else(in_file, str::to_owned)
    };
    let mut stacks = BTreeMap::new();
    for stack in report.json["stacks"].as_array().unwrap() {
        let frames: Vec<_> = stack["frames"].as_array().unwrap().iter().map(name).collect();
        let blocks = [&stack["count"], &stack["freed"]["count"], &stack["leaked"]["blocks"]];
        let of: &mut [u64; 3] = stacks.entry(frames.join(" < ")).or_default();
        of.iter_mut().zip(blocks).for_each(|(sum, n)| *sum += n.as_u64().unwrap());
    }
    stacks
}

fn read_by_script(trace: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/read_memtrace.py");
    let read = Command::new("python3").arg("-B").arg(script).arg(trace).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

#[test]
fn each_process_has_a_file() {
    let place = Place::new();
    let program = place.compile("differs.c");
    let script = format!("{0} 10 5; {0} 20 5; exec {0} 30 5", program.display());
    let run = Run::new(&place, "sh").args(["-c", &script]).options(["--format", "memtrace"]);
    let Ended { code, stderr, .. } = run.recorded();
    assert_eq!(code, 0, "{stderr}");
    // That of the program that was started has the name that was asked for, in what it became last.
    let last = Report::of(&run.trace());
    let kept = |report: &Report| {
        by_stack(report).into_iter().find(|(stack, _)| stack.starts_with("kept")).map(|(_, of)| of[2])
    };
    assert_eq!(kept(&last), Some(30));
    let beside =
        std::fs::read_dir(run.trace().parent().unwrap()).unwrap().flatten().map(|entry| entry.path());
    let others: Vec<_> = beside
        .filter(|path| path.extension().is_some_and(|e| e == "hst") && *path != run.trace())
        .map(|path| kept(&Report::of(&path)))
        .collect();
    for blocks in [10, 20] {
        assert!(others.contains(&Some(blocks)), "{others:?}");
    }
    assert!(stderr.contains("also: ") && stderr.contains(" objects of process "), "{stderr}");
}

/// Each second all that was taken out is in the file, in whole packets, also of threads whose chunk is not
/// nearly full.
#[test]
fn what_a_killed_recorder_leaves_is_readable() {
    let place = Place::new();
    let steps = place.path("steps");
    std::fs::create_dir(&steps).unwrap();
    let program = place.compile("modes.c");
    let run = Run::new(&place, &program).args([Path::new("phases"), &steps]);
    // What is left of its session goes with the place.
    let sessions = place.path("sessions");
    std::fs::create_dir(&sessions).unwrap();
    let run = run.options(["--format", "memtrace", "--session-dir"]).options([&sessions]);
    let started = run.start();
    let phase = |number: u32| std::fs::write(steps.join(number.to_string()), "").unwrap();
    let blocks = || {
        let dump = heapscribe().args(["dump", "--style", "memtrace"]).arg(run.trace()).output().unwrap();
        let text = String::from_utf8_lossy(&dump.stdout).into_owned();
        // Nothing is printed before the first packet is there, and a packet that is being written while it
        // is read is a truncated one (a landing's CI failed of that).
        let said = String::from_utf8_lossy(&dump.stderr);
        let truncated = dump.status.code() == Some(3) && said.contains("skipping truncated packet: ");
        assert!(dump.status.success() || text.is_empty() || truncated, "{said}");
        (1..=5).map(|n| text.matches(&format!("phase_{n}@")).count().min(1)).sum::<usize>()
    };
    phase(1);
    until("the first phase in the file", || blocks() == 1);
    phase(2);
    until("the second phase in the file", || blocks() == 2);
    started.signal(Signal::KILL);
    assert_eq!(started.wait().code, 128 + 9);
    assert_eq!(blocks(), 2);
    read_by_script(&run.trace());
    let left = Report::of(&run.trace());
    assert!(count(&left, &["allocations"]) >= 2_000);
    // The program goes on to its end, and not for ever.
    for number in 3..=5 {
        phase(number);
        until("the phase is over", || steps.join(format!("done{number}")).exists());
    }
}

/// Whether it began between the malloc and the free of a block was a matter of chance, and so was the exit code.
#[test]
fn a_memtrace_file_of_a_ring_says_what_is_not_in_it() {
    let place = Place::new();
    let program = place.compile("replaces.c");
    let run = Run::new(&place, &program).args(["1000000"]).options(["--ring", "1MiB"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let file = place.path("ring.ctf");
    let made = heapscribe().args(["convert", "--to", "memtrace", "-o"]).arg(&file).arg(run.trace()).output();
    let made = made.unwrap();
    let said = String::from_utf8(made.stderr).unwrap();
    assert_eq!(made.status.code(), Some(0), "{said}");
    assert!(said.contains("; neither they nor 4,09"), "{said}");
    let frees =
        said.split("left out: ").nth(1).and_then(|rest| rest.split(" frees of blocks from before").next());
    let frees: u64 = frees.unwrap_or_else(|| panic!("{said}")).replace(',', "").parse().unwrap();
    // Nearly all of those were replaced; what the file has is what the ring has.
    assert!((3_000..=4_096).contains(&frees), "{said}");
    let (ring, file) = (Report::of(&run.trace()), Report::of(&file));
    assert_eq!(file.json["allocations"], ring.json["allocations"]);
    let frees_of = |report: &Report| report.json["frees"].as_u64().unwrap();
    assert_eq!(frees_of(&file) + frees, frees_of(&ring));
}

/// The level of chunks as they come is none of several threads: of two that have a block in turn `about` 3 GiB was printed.
#[test]
fn of_several_threads_no_peak_is_printed_but_in_the_report() {
    let place = Place::new();
    let program = place.compile("turns.c");
    let run = Run::new(&place, &program).args(["thread", "3000"]).options(["--format", "memtrace"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("not freed: ") && !ended.stderr.contains("peak: "), "{}", ended.stderr);
    let peak = count(&Report::of(&run.trace()), &["peak", "bytes"]);
    assert!((1 << 20..3 << 20).contains(&peak), "{peak}");
}
