//! What a person sees of a recorded Python program: its lines, in place of functions of the interpreter.

use std::fs;
use std::path::Path;

use crate::support::python::{Python, newest};
use crate::support::screens::holds_most;
use crate::support::{Place, Report, Run};

/// A run of one of the programs, recorded.
fn recorded<'a>(place: &'a Place, python: &Python, program: &str, arguments: &[&Path]) -> Run<'a> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    let run = Run::new(place, &python.program).args([&program]).args(arguments);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    run
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
