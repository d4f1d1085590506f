//! Memory that programs map themselves (`record --track-mmap`): by addresses, beside a count of their own.

use serde_json::Value;

use crate::support::{Ended, Place, Report, Run, heapscribe};

/// Runs `mappings`; what it counted itself: live, at the break, without rights, the most at a time.
fn run(place: &Place, args: &[&str], options: &[&str]) -> (Ended, [u64; 4]) {
    let program = place.compile("mappings.c");
    let ended = Run::new(place, program).args(args).options(options).recorded();
    assert_eq!(ended.code, 0, "{} {}", ended.stdout, ended.stderr);
    let counted: Vec<u64> = ended.stdout.split_whitespace().map(|n| n.parse().unwrap()).collect();
    (ended, counted.try_into().unwrap())
}

fn figure(mappings: &Value, name: &str) -> u64 {
    mappings[name].as_u64().unwrap_or_else(|| panic!("{name} in {mappings}"))
}

/// The live bytes of stacks through a function.
fn live_of(mappings: &Value, function: &str) -> u64 {
    let through = |stack: &&Value| {
        stack["frames"].as_array().unwrap().iter().any(|frame| frame["function"] == function)
    };
    let stacks = mappings["stacks"].as_array().unwrap().iter().filter(through);
    stacks.map(|stack| figure(stack, "live_bytes")).sum()
}

#[test]
fn what_a_program_maps_is_what_it_counts_itself() {
    const PAGE: u64 = 4096;
    let place = Place::new();
    let (_, [live, at_break, reserved, most]) = run(&place, &[], &["--track-mmap"]);
    let report = Report::of(&place.path("run.hst"));
    report.assert_whole(&[]);
    let of_main = &report.processes()[0]["mappings"];
    let names = ["live_bytes", "break_bytes", "reserved_bytes", "peak_bytes"];
    assert_eq!(names.map(|name| figure(of_main, name)), [live, at_break, reserved, most]);
    assert_eq!(of_main["incomplete"], false);
    for (function, pages) in [("splits", 50), ("moves", 5), ("over", 63), ("jit", 8)] {
        assert_eq!(live_of(of_main, function), pages * PAGE, "{function}");
    }
    assert_eq!(live_of(of_main, "the_break"), at_break);
    let of_stacks = of_main["stacks"].as_array().unwrap().iter().map(|stack| figure(stack, "peak_bytes"));
    assert_eq!(of_stacks.sum::<u64>(), most);
    // The child has unmapped what was mapped before its time.
    assert_eq!(figure(&report.processes()[1]["mappings"], "live_bytes"), 9 * PAGE);
    // The heap has none of it.
    assert_eq!(report.processes()[0]["peak"]["bytes"].as_u64().map(|bytes| bytes < 10_000), Some(true));
    let text = heapscribe().args(["report", "--full"]).arg(place.path("run.hst")).output().unwrap();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("Mapped by the program itself"), "{text}");
}

#[test]
fn threads_that_unmap_each_others_memory_are_followed() {
    let place = Place::new();
    let (_, [live, ..]) = run(&place, &["threads"], &["--track-mmap"]);
    let report = Report::of(&place.path("run.hst"));
    report.assert_whole(&[]);
    assert_eq!(figure(&report.processes()[0]["mappings"], "live_bytes"), live);
}

#[test]
fn unasked_nothing_is_recorded_of_mappings() {
    let place = Place::new();
    run(&place, &[], &[]);
    let report = Report::of(&place.path("run.hst"));
    report.assert_whole(&[]);
    assert!(report.processes().iter().all(|process| process.get("mappings").is_none()));
}

/// A smaller copy has the same mappings, and an independent reader reads both.
#[test]
fn copies_have_the_mappings_too() {
    let place = Place::new();
    let (_, [live, ..]) = run(&place, &[], &["--track-mmap"]);
    let (trace, copy) = (place.path("run.hst"), place.path("copy.hst"));
    let redact = heapscribe().arg("redact").arg(&trace).arg("-o").arg(&copy).output().unwrap();
    assert!(redact.status.success(), "{}", String::from_utf8_lossy(&redact.stderr));
    assert_eq!(figure(&Report::of(&copy).processes()[0]["mappings"], "live_bytes"), live);
    let dump = heapscribe().arg("dump").arg(&copy).output().unwrap();
    let maps = String::from_utf8_lossy(&dump.stdout).lines().filter(|line| line.contains(" m ")).count();
    assert!(maps > 50, "{maps}");
}
