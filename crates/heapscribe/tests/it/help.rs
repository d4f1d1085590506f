//! Help and errors, word for word.

use crate::sample;
use crate::see::Place;

/// Commands as `heapscribe --help` lists them: two spaces, a name, its sentence.
pub(crate) fn commands(help: &str) -> Vec<&str> {
    let begin = help.find("\nUsage:").unwrap();
    let end = help.find("\nOptions:").unwrap();
    let lines = help[begin..end].lines().filter_map(|line| line.strip_prefix("  "));
    lines.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_whitespace().next()).collect()
}

#[test]
fn help_of_every_command() {
    let place = Place::with_trace(b"");
    let help = place.stdout("--help");
    insta::assert_snapshot!("help", help);
    for command in commands(&help).into_iter().filter(|command| *command != "help") {
        let help = place.stdout(&format!("{command} --help"));
        assert_eq!(wrapped_example(&help), None, "an example of {command} is too long");
        insta::assert_snapshot!(format!("help_{command}"), help);
    }
}

/// That a pipe is none is known without waiting for its writer.
#[test]
fn what_is_no_file_with_events() {
    let place = Place::with_trace(b"");
    assert_eq!(
        place.failure("report run.hst"),
        "error: run.hst: the file is empty\nhint: the recording that was to write it has failed, or has only begun\nexit code 1"
    );
    let made = std::process::Command::new("mkfifo").arg(place.path("pipe.hst")).status().unwrap();
    assert!(made.success());
    assert_eq!(
        place.failure("report pipe.hst"),
        "error: pipe.hst is not a regular file\nhint: write the trace to a file first\nexit code 1"
    );
}

/// A line of the examples that is the rest of another one: no example needs more than 100 columns.
fn wrapped_example(help: &str) -> Option<&str> {
    let examples = help.split("\nUsage:").next()?.split_once("Examples:\n")?.1;
    let begins = ["  heapscribe ", "  LD_PRELOAD=", "          "];
    examples.lines().find(|line| !line.is_empty() && !begins.iter().any(|begin| line.starts_with(begin)))
}

#[test]
fn old_spellings_work_and_are_hidden() {
    let place = Place::with_trace(&sample::tiny());
    for (old, new) in [
        ("flame run.hst -o x.folded --of count", "flame run.hst -o x.folded --metric count"),
        ("diff run.hst run.hst --by leaked", "diff run.hst run.hst --metric leaked"),
        ("hotspots run.hst --of count", "hotspots run.hst --metric count"),
        ("libs --list", "install-libs --list"),
        ("collect nowhere -o x.hst", "recover nowhere -o x.hst"),
    ] {
        assert_eq!(place.all(old), place.all(new), "{old}");
    }
    let help: String =
        ["--help", "flame --help", "diff --help", "hotspots --help"].map(|a| place.stdout(a)).concat();
    for old in ["--of", "--by", "libs  ", "collect  "] {
        assert!(!help.replace("install-libs", "").contains(old), "{old}");
    }
}

#[test]
fn errors_say_what_and_what_next() {
    let place = Place::with_trace(b"no trace at all");
    let errors = [
        "report missing.hst",
        "report run.hst",
        "dump .",
        "flame run.hst -o picture.png",
        "flame run.hst",
        "diff run.hst",
        "diff missing.hst run.hst",
        "check run.hst --max-peak 1XB",
        "check run.hst --max-peak 1MB --tolerance 5%",
        "check run.hst --max-leaked 0 --suppressions missing.supp",
        "check missing.hst --max-leaked 0",
        "record --spill-limit 1XB -- true",
        "record --sample 0 -- true",
        "record --sample 2TiB -- true",
        "record --sample 1MB --mode off -- true",
        "ctl 4194305 stop --session-dir .",
        "ctl 1 mode on",
        "snapshot 4194305 --session-dir .",
        "snapshot nobody --session-dir .",
        "snapshot ./nothing",
        "list nobody --session-dir .",
        "list missing.hst --session-dir .",
        "report --by-block run.hst",
        "record",
        "record --sampel 1MB ls -l",
        "run --heap tlsf --stat ls",
        "record --level fast ls",
        "record -o run.hst -- ls",
        "report run.hst --debug-dir nowhere",
        "subsample run.hst --from 5s --to 1s -o part.hst",
        "record --pid 4711",
        "record -p 4711",
        "attach 4711",
        "reprot run.hst",
    ]
    .map(|arguments| format!("$ heapscribe {arguments}\n{}\n", place.failure(arguments)));
    insta::assert_snapshot!(errors.join("\n"));
}
