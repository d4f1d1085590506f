//! Help and errors, word for word.

use crate::see::Place;

#[test]
fn help_of_every_command() {
    let place = Place::with_trace(b"");
    insta::assert_snapshot!("help", place.stdout("--help"));
    for command in [
        "record",
        "libs",
        "report",
        "dump",
        "flame",
        "plot",
        "replay",
        "pool-size",
        "diff",
        "check",
        "collect",
        "ctl",
        "convert",
        "subsample",
        "redact",
        "hotspots",
        "ps",
        "top",
        "snapshot",
        "list",
        "header",
    ] {
        insta::assert_snapshot!(format!("help_{command}"), place.stdout(&format!("{command} --help")));
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
        "report --by-block run.hst",
        "record",
        "reprot run.hst",
    ]
    .map(|arguments| format!("$ heapscribe {arguments}\n{}\n", place.failure(arguments)));
    insta::assert_snapshot!(errors.join("\n"));
}
