//! Python programs that say at each of their blocks which Python frames there are: the trace has the same, frame by
//! frame, for each version that is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::interpreted::{Blocks, blocks_of, written_frame};
use crate::support::screens::holds_most;
use crate::support::{Place, Report, Run, skip};

/// An interpreter with the headers to build an extension for it.
struct Python {
    program: PathBuf,
    include: String,
}

/// The minor versions whose frames are read.
const MINORS: std::ops::RangeInclusive<u32> = 8..=14;

fn pythons() -> Vec<Python> {
    let home = std::env::var("HOME").unwrap_or_default();
    let versions = fs::read_dir(Path::new(&home).join(".pyenv/versions")).into_iter().flatten().flatten();
    let mut programs: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin/python3")).collect();
    programs.push("/usr/bin/python3".into());
    programs.sort();
    let ask = "import sys, sysconfig; print(sys.version_info[1], sysconfig.get_paths()['include'])";
    let known = |program: PathBuf| {
        let said = Command::new(&program).args(["-c", ask]).output().ok()?;
        let said = String::from_utf8(said.stdout).ok()?;
        let (minor, include) = said.trim().split_once(' ')?;
        let has_headers = Path::new(include).join("Python.h").exists();
        (MINORS.contains(&minor.parse().ok()?) && has_headers)
            .then(|| Python { program, include: include.to_owned() })
    };
    programs.into_iter().filter_map(known).collect()
}

/// One of them; says so when there is none.
fn newest() -> Option<Python> {
    let python = pythons().pop();
    if python.is_none() {
        skip(format_args!("no Python of 3.8 to 3.14 has its headers (apt-get install python3-dev)"));
    }
    python
}

/// A run of one of the programs, recorded.
fn recorded<'a>(place: &'a Place, python: &Python, program: &str, arguments: &[&Path]) -> Run<'a> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    let run = Run::new(place, &python.program).args([&program]).args(arguments);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    run
}

/// What the program has written.
fn expected(notes: &Path) -> Blocks {
    let mut blocks = Blocks::new();
    for line in fs::read_to_string(notes).unwrap().lines() {
        let mut parts = line.split('\t');
        let (tid, size) = parts.next().unwrap().split_once(' ').unwrap();
        let of_thread = blocks.entry(tid.parse().unwrap()).or_default();
        of_thread.push((size.parse().unwrap(), parts.map(written_frame).collect()));
    }
    blocks
}

/// How many blocks there were.
fn check(python: &Python) -> usize {
    let place = Place::new();
    place.library("python_oracle.c", "oracle.so", &["-O1", &format!("-I{}", python.include)]);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/python_frames.py");
    let notes = place.path("notes");
    let run = Run::new(&place, &python.program).args([program.as_os_str()]).args(["20"]);
    let run = run.env("ORACLE", &notes).env("PYTHONPATH", place.path("."));
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(Report::of(&run.trace()).dropped("interpreted_frames"), 0, "{:?}", python.program);
    let (expected, recorded) = (expected(&notes), blocks_of("/oracle.so", &run.trace()));
    assert_eq!(expected.keys().collect::<Vec<_>>(), recorded.keys().collect::<Vec<_>>());
    for (tid, blocks) in &expected {
        assert_eq!(blocks.len(), recorded[tid].len(), "{:?} thread {tid}", python.program);
        for (number, (block, recorded)) in blocks.iter().zip(&recorded[tid]).enumerate() {
            assert_eq!(block, recorded, "{:?} thread {tid}, block {number}", python.program);
        }
    }
    expected.values().map(Vec::len).sum()
}

#[test]
fn all_frames_are_those_of_the_interpreter() {
    let pythons = pythons();
    if pythons.is_empty() {
        return skip(format_args!("no Python of 3.8 to 3.14 has its headers (apt-get install python3-dev)"));
    }
    for python in pythons {
        let blocks = check(&python);
        assert!(blocks > 3000, "{:?}: {blocks}", python.program);
    }
}

/// A handler that keeps what it has sent is named on the first screen.
#[test]
fn a_leak_of_a_web_handler_is_named_by_its_line() {
    let Some(python) = newest() else { return };
    let place = Place::new();
    let run = recorded(&place, &python, "python_web.py", &[]);
    let first = run.report(&[]);
    assert!(first.contains("Handler.render at python_web.py:14"), "{first}");
    assert!(run.flame_graph("peak").contains("python_web.py:14"), "no line in the flame graph");
    assert!(!run.report(&["--full"]).contains("_PyEval_EvalFrameDefault"));
    assert!(run.report(&["--full", "--native"]).contains("_PyEval_EvalFrameDefault"));

    let native = run.options(["--no-interpreter-frames"]);
    assert_eq!(native.recorded().code, 0);
    assert!(!native.report(&["--full"]).contains("Handler.render"));
}

/// A string that `json.loads` has made is kept by who called that, and not by `scanstring_unicode`.
#[test]
fn what_c_code_of_python_makes_is_that_of_the_script() {
    let Some(python) = newest() else { return };
    let place = Place::new();
    let first = recorded(&place, &python, "python_json.py", &[]).report(&[]);
    assert!(holds_most(&first).contains("load at python_json.py:7"), "{first}");
}

/// A table of pandas is kept by the script that asked for it, not by the compiled code of numpy.
#[test]
fn a_leak_of_an_installed_package_is_that_of_the_script() {
    let Some(python) = newest() else { return };
    let place = Place::new();
    let packages = place.path("lib/site-packages/columns");
    fs::create_dir_all(&packages).unwrap();
    let library = packages.join("columns.cpython-311-x86_64-linux-gnu.so");
    fs::rename(place.library("installed.c", "columns.so", &["-O1"]), &library).unwrap();
    let run = recorded(&place, &python, "python_installed.py", &[&library]);
    let first = run.report(&[]);
    assert!(first.contains("load at python_installed.py:12"), "{first}");
    assert!(!first.contains("new_column"), "{first}");
    assert!(run.flame_graph("leaked").contains("python_installed.py:12"), "no line in the flame graph");
}

/// Objects of 233 bytes, which Python keeps in arenas of its own: 50,000 more of them are 50,000 more blocks or none.
#[test]
fn small_objects_are_recorded_when_that_is_asked_for() {
    let Some(python) = newest() else { return };
    let place = Place::new();
    let run = |objects: u32, options: &[&str]| {
        let script = format!("kept = [bytes(200) for _ in [0] * {objects}]");
        let run = Run::new(&place, &python.program).args(["-c", &script]).options(options);
        assert_eq!(run.recorded().code, 0);
        let json = Report::of(&run.trace()).json;
        let said = json["interpreters"][0]["objects"].as_str().unwrap().to_owned();
        (json["allocations"].as_u64().unwrap(), said, run.report(&[]).replace('\n', " "))
    };
    for (options, more, objects, words) in [
        (&["--python-allocators"][..], 50_000..50_100, "malloc", "Each Python object is a block"),
        (&[], 0..200, "own", "arenas of its own, and not recorded"),
    ] {
        let [few, many] = [0, 50_000].map(|objects| run(objects, options));
        assert!(more.contains(&(many.0 - few.0)), "{options:?}: {few:?} {many:?}");
        assert_eq!([few.1, many.1], [objects; 2]);
        assert!(many.2.contains(words), "{}", many.2);
    }
}
