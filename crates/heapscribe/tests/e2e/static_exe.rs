//! A program that nothing can be preloaded into is recorded by the recorder that is linked into it.

use crate::support::static_program::{build, build_static};
use crate::support::{Place, Report, Run};
use serde_json::Value;

#[test]
fn a_static_program_is_recorded() {
    let place = Place::new();
    let program = build_static(None);
    let words = place.path("words");
    std::fs::write(&words, "one two two three three three\n").unwrap();
    let run = Run::new(&place, &program).args([&words]);
    let (plain, recorded) = (run.plain(), run.recorded());
    assert_eq!((plain.code, &plain.stdout), (recorded.code, &recorded.stdout), "{}", recorded.stderr);
    let report = Report::of(&run.trace());
    report.assert_whole(&[]);
    // 4 vectors of 100,000 bytes, by doubling from 8: 8 .. 131,072 is one malloc and 14 reallocs each.
    assert!(report.calls().realloc >= 4 * 14, "{:?}", report.calls());
    let stacks = report.json["stacks"].as_array().unwrap();
    let of = |function: &str| {
        let names =
            |s: &Value| s["frames"].as_array().unwrap().iter().map(|f| f["function"].clone()).collect();
        let leads = |s: &&Value| {
            let names: Vec<Value> = names(s);
            names.iter().any(|name| name.as_str().is_some_and(|n| n.contains(function)))
        };
        stacks.iter().filter(leads).collect::<Vec<_>>()
    };
    let pages = of("leak_page");
    assert_eq!(pages.len(), 1, "one stack leads through leak_page");
    assert_eq!((&pages[0]["leaked"]["bytes"], &pages[0]["leaked"]["blocks"]), (&4096.into(), &1.into()));
    assert!(!of("churn").is_empty() && !of("count_words").is_empty());
    assert!(
        of("is_told").is_empty() && of("RecordedHeap").is_empty(),
        "the recorder's own frames are left out"
    );
}

/// Linked dynamically, it is recorded by the preloaded library, and by nobody twice.
#[test]
fn under_the_preloaded_library_it_leaves_the_recording_to_that() {
    let place = Place::new();
    let program = build();
    let words = place.path("words");
    std::fs::write(&words, "one two two three three three\n").unwrap();
    let run = Run::new(&place, &program).args([&words]);
    let recorded = run.recorded();
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let report = Report::of(&run.trace());
    report.assert_whole(&[]);
    assert_eq!(report.processes().len(), 1, "one session");
    assert!((4 * 14..1000).contains(&report.calls().realloc), "{:?}", report.calls());
}

/// `age` and other programs of Debian's in Go: the loader starts them with what is preloaded, and there is no libc
/// whose functions ours could bind to.
#[test]
fn a_program_without_libc_starts() {
    let place = Place::new();
    let program = place.compile_with("cc", "no_libc.S", "no_libc", &["-nostdlib", "-pie"]);
    let run = Run::new(&place, &program);
    assert_eq!(run.plain().code, 7);
    for options in [&[][..], &["--latency"], &["--heap", "tlsf"]] {
        let ended = run.clone().options(options).recorded();
        assert_eq!(ended.code, 7, "{options:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("uses no C library"), "{options:?}: {}", ended.stderr);
    }
    let quiet = run.clone().options(["--quiet"]).recorded();
    assert!(!quiet.stderr.contains("the program has exited"), "{}", quiet.stderr);
}
