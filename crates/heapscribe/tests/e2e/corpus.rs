//! Real programs under every heap, with the same output and the same end as without.
//!
//! Here some programs run under the heaps that heapscribe carries; `cargo run -p xtask -- campaign heaps` runs
//! all that the machine has, under the examples' heaps, too. Each is a script of `programs/corpus`, run in an
//! empty directory; what it leaves in `out` is compared as well.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Place, Started, has, heaps, heapscribe, skip};

/// A program that has to be there, its script, and what that is given.
type Program = (&'static str, &'static str, &'static [&'static str]);

const PROGRAMS: [Program; 14] = [
    ("ls", "ls", &[]),
    ("sh", "sh", &[]),
    ("perl", "perl", &[]),
    ("sqlite3", "sqlite3", &[]),
    ("xsltproc", "xsltproc", &[]),
    ("gcc", "c", &["gcc"]),
    ("g++", "cxx", &[]),
    ("make", "make", &[]),
    ("python3", "python3", &[]),
    ("git", "git", &[]),
    ("clang", "c", &["clang"]),
    ("dot", "dot", &[]),
    ("node", "node", &[]),
    ("nginx", "nginx", &[]),
];
/// Of them those that are quick.
const SHORT: usize = 5;

/// What a run leaves to be compared.
#[derive(PartialEq, Eq)]
struct Answer {
    code: i32,
    stdout: String,
    stderr: String,
    files: BTreeMap<OsString, Vec<u8>>,
}

impl Answer {
    /// What is not as in `plain`.
    fn differs(&self, plain: &Answer) -> String {
        let mut parts = Vec::new();
        if self.code != plain.code {
            parts.push(format!("ended with {} instead of {}", self.code, plain.code));
        }
        if self.stdout != plain.stdout {
            parts.push("another output".to_owned());
        }
        if self.stderr != plain.stderr {
            parts.push(format!("said {:?}", self.stderr));
        }
        if self.files != plain.files {
            parts.push("other files".to_owned());
        }
        parts.join(", ")
    }
}

/// A heap to run programs under: its name, and what stands before the program.
struct Heap {
    name: &'static str,
    before: Vec<OsString>,
}

impl Heap {
    fn new(name: &'static str, command: &str, heap: impl Into<OsString>, more: &[OsString]) -> Heap {
        let words = [command.into(), "--heap".into(), heap.into()];
        Heap { name, before: [&words, more, &["--".into()]].concat() }
    }
}

fn carried(place: &Place) -> Vec<Heap> {
    let quiet = ["-q".into(), "--force".into(), "-o".into(), place.path("corpus.hst").into()];
    vec![
        Heap::new("tlsf", "run", "tlsf", &[]),
        Heap::new("system", "run", "system", &[]),
        Heap::new("tlsf recorded", "record", "tlsf", &quiet),
    ]
}

fn of_examples(place: &Place) -> Vec<Heap> {
    vec![
        Heap::new("Rust", "run", heaps::in_rust(), &[]),
        Heap::new("C", "run", heaps::in_c(place), &[]),
        Heap::new("heaphook", "run", heaps::for_heaphook(place), &[]),
    ]
}

/// Runs the script in an empty directory, which is the same each time: some programs say where they are.
fn run(place: &Place, (_, script, args): Program, heap: Option<&Heap>) -> Answer {
    let work = place.path("work");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(work.join("out")).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/corpus/{script}.sh"));
    let mut command = match heap {
        Some(heap) => {
            let mut command = heapscribe();
            command.args(&heap.before).arg("sh");
            command
        }
        None => Command::new("sh"),
    };
    command.arg(path).args(args).current_dir(&work);
    // `git log --stat` is as wide as it is told.
    command.env("LC_ALL", "C.UTF-8").env("COLUMNS", "100");
    let ended = Started::new(command, place, "corpus").wait();
    let files: Vec<PathBuf> =
        fs::read_dir(work.join("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let files = files.iter().map(|file| (file.file_name().unwrap().to_owned(), fs::read(file).unwrap()));
    Answer { code: ended.code, stdout: ended.stdout, stderr: ended.stderr, files: files.collect() }
}

/// A line for each program; what differed.
fn compare(place: &Place, programs: &[Program], heaps: &[Heap]) -> Vec<String> {
    let mut failures = Vec::new();
    for &program in programs {
        let name = program.0;
        if !has(name) {
            skip(format_args!("{name} is not there"));
            continue;
        }
        let plain = run(place, program, None);
        assert!(!plain.stdout.is_empty(), "{name} says nothing: {}", plain.stderr);
        let mut told = Vec::new();
        for heap in heaps {
            let differs = run(place, program, Some(heap)).differs(&plain);
            told.push(format!("{} {}", heap.name, if differs.is_empty() { "same" } else { &*differs }));
            if !differs.is_empty() {
                failures.push(format!("{name} under {}: {differs}", heap.name));
            }
        }
        println!("heaps: {name}: {}", told.join(", "));
    }
    failures
}

/// `HEAPSCRIBE_CORPUS`: `all`, or names with blanks between.
#[test]
fn programs_say_the_same_under_every_heap() {
    let place = Place::new();
    let mut heaps = carried(&place);
    let mut programs = PROGRAMS[..SHORT].to_vec();
    if let Ok(names) = std::env::var("HEAPSCRIBE_CORPUS") {
        heaps.extend(of_examples(&place));
        let is_named = |program: &Program| names == "all" || names.split(' ').any(|name| name == program.0);
        programs = PROGRAMS.into_iter().filter(is_named).collect();
    }
    let failures = compare(&place, &programs, &heaps);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
