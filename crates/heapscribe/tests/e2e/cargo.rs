//! `heapscribe cargo`: each binary that cargo runs has a trace, cargo itself has none.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{self, Place, Report, skip};

const LIB: &str = "\
/// Leaves 4,321 bytes.
pub fn leave() { std::mem::forget(vec![7_u8; 4321]); }
#[test]
fn inside() { leave(); }
";

const IT: &str = "#[test]\nfn outside() { for _ in 0..3 { leaves::leave(); } }\n";

const MAIN: &str = "fn main() { leaves::leave(); std::process::exit(std::env::args().count() as i32); }\n";

/// A package with a program, and tests inside and beside its library.
fn package() -> Place {
    let place = Place::new();
    let write = |path: &str, text: &str| {
        let path = place.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"leaves\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    write("src/lib.rs", LIB);
    write("src/main.rs", MAIN);
    write("tests/it.rs", IT);
    symlink(assert_cmd::cargo::cargo_bin!("heapscribe"), place.path("cargo-heapscribe")).unwrap();
    place
}

fn cargo(place: &Place, mut command: Command, args: &[&str]) -> Output {
    let folder = place.path("src").parent().unwrap().to_owned();
    command.args(args).current_dir(folder).env_remove("CARGO_TARGET_DIR").env_remove("CARGO_PKG_NAME");
    command.env_remove("CARGO_MANIFEST_DIR").output().unwrap()
}

/// Bytes that one place left, in blocks of 4,321.
fn left(trace: &Path) -> u64 {
    let report = Report::of(trace);
    report.assert_whole(&[]);
    let stacks = report.json["stacks"].as_array().unwrap().iter();
    let of_leave = stacks.filter(|stack| stack["frames"].to_string().contains("leaves::leave"));
    of_leave.map(|stack| stack["leaked"]["bytes"].as_u64().unwrap()).sum()
}

fn names(folder: &Path) -> Vec<String> {
    let entries =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| name.ends_with(".hst")).collect();
    names.sort();
    names
}

#[test]
fn each_binary_has_a_trace() {
    if !support::has("cargo") {
        return skip(format_args!("cargo is not there"));
    }
    let place = package();
    let done = cargo(&place, support::heapscribe(), &["cargo", "test", "--quiet", "--lib", "--tests"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    let folder = place.path("target/heapscribe/test");
    // The unit tests of the library and of the program have one name.
    assert_eq!(names(&folder), ["leaves-2.hst", "leaves.hst", "leaves.it.hst"], "{said}");
    assert_eq!(left(&folder.join("leaves.it.hst")), 3 * 4321);
    assert_eq!(left(&folder.join("leaves.hst")) + left(&folder.join("leaves-2.hst")), 4321);
    assert!(said.contains("cargo test: 3 traces in "), "{said}");
    assert!(said.contains("heapscribe report target/heapscribe/test/leaves.it.hst"), "{said}");

    let linked = Command::new(place.path("cargo-heapscribe"));
    let done = cargo(&place, linked, &["heapscribe", "test", "--quiet", "--test=it"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(names(&folder), ["leaves.it.hst"], "those of the run before are removed");
}

#[test]
fn a_program_has_its_words_and_its_exit_code() {
    if !support::has("cargo") {
        return skip(format_args!("cargo is not there"));
    }
    let place = package();
    let linked = Command::new(place.path("cargo-heapscribe"));
    let done = cargo(&place, linked, &["heapscribe", "run", "--quiet", "--", "--sample", "x"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert_eq!(left(&place.path("target/heapscribe/run/leaves.hst")), 4321);

    let linked = Command::new(place.path("cargo-heapscribe"));
    let done = cargo(&place, linked, &["heapscribe", "report", "target/heapscribe/run/leaves.hst"]);
    let report = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(report.contains("leaves --sample x\n"), "{report}{}", String::from_utf8_lossy(&done.stderr));
    let done = cargo(&place, support::heapscribe(), &["cargo", "run", "--manifest-path", "no/Cargo.toml"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("cargo failed\nhint: "), "{said}");
}
