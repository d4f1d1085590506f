//! `record --format memtrace`: a program's heap in a file of OCaml's memtrace, read by ours and by a reader
//! that shares nothing with it.

mod support;

use std::path::Path;
use std::process::Command;

use support::{Ended, Place, Report, Run};

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
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/read_memtrace.py");
    let read = Command::new("python3").arg("-B").arg(script).arg(memtrace.trace()).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}
