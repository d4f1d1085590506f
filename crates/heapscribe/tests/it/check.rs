//! Rules held against small traces: text, JSON, JUnit's XML, exit codes.

use heapscribe_formats::RealTimeRules;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::sample;
use crate::see::{Place, file};

const SUPPRESSIONS: &str = "# looked at\nleak:nonexistent/app\nalloc:^libgui\n";

/// Each command line with what it prints and how it ends.
fn shown<const N: usize>(place: &Place, rules: [&str; N]) -> String {
    let one = |rules: &str| {
        let (code, out, err) = place.all(&format!("check run.hst {rules}"));
        format!("$ check {rules}\n{out}--- stderr ---\n{err}--- exit {} ---\n", code.unwrap())
    };
    rules.map(one).join("\n")
}

fn place() -> Place {
    let place = Place::with_trace(&sample::sectioned(RealTimeRules::default()));
    std::fs::write(place.path("known.supp"), SUPPRESSIONS).unwrap();
    std::fs::write(place.path("old.hst"), sample::tiny()).unwrap();
    place
}

#[test]
fn text() {
    let rules = [
        "",
        "--no-alloc-in rt",
        "--no-alloc-in rt --process other --max-peak 1KiB",
        "--no-alloc-in clean --no-alloc-in clean --no-alloc-in no-such",
        "--no-alloc-in rt --thread main",
        "--no-alloc-after ready",
        "--no-alloc-after ready --thread aud*",
        "--no-alloc-by a?dio --no-alloc-by nobody",
        "--max-peak 1KiB --max-rss 1GiB",
        "--max-peak 3663",
        "--max-leaked 0 --max-leaked-blocks 2 --max-leaked-per-stack 500 --top 1",
        "--max-leaked 0 --max-leaked-blocks 0 --suppressions known.supp",
        "--max-temporary 0",
        "--max-allocations 3 --max-allocated 1MiB --max-temporary 10% --max-failed 0",
        "--max-alloc-rate 3/s --max-mean-alloc-rate 10000/s",
        "--max-latency 1ms",
        "--max-latency 99us",
        "--max-latency 10ms --process other",
        "--baseline run.hst",
        "--baseline old.hst --tolerance 50%",
    ];
    insta::assert_snapshot!(shown(&place(), rules));
}

#[test]
fn what_a_trace_cannot_tell_is_not_kept() {
    // Events are missing: what is too much already stays too much, but for what they could have freed.
    let place = Place::with_trace(&sample::trace());
    let of_gaps = shown(
        &place,
        ["--max-peak 1KiB --max-allocations 3 --max-allocated 1GiB --no-alloc-by main", "--max-peak 10B"],
    );
    let place = Place::with_trace(&sample::sampled());
    let of_samples = shown(
        &place,
        [
            "--max-peak 1MiB --max-leaked 1MiB --no-alloc-by nobody",
            "--max-peak 9MiB --max-leaked 1KiB --no-alloc-by main --max-temporary 50%",
        ],
    );
    insta::assert_snapshot!([of_gaps, of_samples].join("\n"));
}

/// A log of heaphook's: of times and threads it can tell nothing, of bytes and of how long calls took it can.
#[test]
fn a_log_of_heaphooks() {
    let fixture = "../formats/tests/fixtures/heaphook/heaplog.29657.log";
    let log = std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture)).unwrap();
    let place = Place::with_trace(&log);
    let rules = "--max-peak 1B --max-alloc-rate 1/s --no-alloc-by nobody --max-latency 1h --top 1";
    insta::assert_snapshot!(shown(&place, [rules]));
}

#[test]
fn the_rules_of_the_recording_are_rules() {
    let rules = RealTimeRules {
        sections: vec![b"rt".to_vec()],
        after_mark: Some(b"ready".to_vec()),
        threads: vec![b"main".to_vec(), b"x?".to_vec()],
    };
    let threads = RealTimeRules { threads: vec![b"audio".to_vec()], ..RealTimeRules::default() };
    let of = |rules| Place::with_trace(&sample::sectioned(rules));
    let both = [shown(&of(rules), ["", "--max-leaked 1MiB"]), shown(&of(threads), ["--top 1"])];
    insta::assert_snapshot!(both.join("\n"));
}

#[test]
fn json() {
    let (code, out, _) = place()
        .all("check run.hst --no-alloc-in rt --max-leaked 100 --suppressions known.supp --json --top 1");
    assert_eq!(code, Some(4));
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[test]
fn lines_for_build_servers() {
    let rules = [
        "--no-alloc-in rt --max-leaked 100 --max-peak 1MiB --top 1 --format github",
        "--no-alloc-in no-such --max-peak 1KiB --top 1 --format ctest",
        "--max-peak 1MiB --format github",
        "--max-peak 1MiB --format github --json",
    ];
    insta::assert_snapshot!(shown(&place(), rules));
}

#[test]
fn junit() {
    let place = place();
    let rules = "--no-alloc-in rt --no-alloc-in no<such>&\"x\" --max-peak 1KiB --suppressions known.supp";
    let (code, _, err) = place.all(&format!("check run.hst {rules} --junit out.xml"));
    assert_eq!((code, &*err), (Some(4), ""));
    let xml = file(&place.path("out.xml"));
    let cases = read_junit(&xml);
    let name = |case: &Case| (case.name.clone(), case.outcome.clone());
    let names: Vec<_> = cases.iter().map(name).collect();
    let case = |name: &str, outcome: &str| (name.to_owned(), outcome.to_owned());
    let expected = [
        case("no-alloc-in rt", "failure"),
        case("no-alloc-in rt", ""),
        case("no-alloc-in no<such>&\"x\"", "error"),
        case("max-peak 1.00 KiB", "failure"),
        case("max-peak 1.00 KiB", ""),
        case("max-peak 1.00 KiB", "failure"), // of both together
    ];
    assert_eq!(names, expected);
    insta::assert_snapshot!(xml);
}

#[derive(Debug, Default)]
struct Case {
    class: String,
    name: String,
    /// The element inside, if there is one.
    outcome: String,
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element.attributes().map(Result::unwrap).find(|a| a.key.as_ref() == name.as_bytes())?;
    Some(found.normalized_value(quick_xml::XmlVersion::Explicit1_0).unwrap().into_owned())
}

/// Reads a document by the rules that the schemas of Jenkins and of Ant have in common: which elements stand
/// in which, which attributes they must have, that counts count, and that no two cases have the same name.
fn read_junit(xml: &str) -> Vec<Case> {
    let mut reader = Reader::from_str(xml);
    let (mut within, mut cases): (Vec<String>, Vec<Case>) = (Vec::new(), Vec::new());
    let mut counts = Vec::new();
    loop {
        let event = reader.read_event().unwrap();
        let is_empty = matches!(event, Event::Empty(_));
        match event {
            Event::Start(element) | Event::Empty(element) => {
                let name = String::from_utf8(element.name().as_ref().to_vec()).unwrap();
                let must = |attributes: &[&str]| {
                    attributes.iter().map(|a| attribute(&element, a).expect(a)).collect::<Vec<_>>()
                };
                match (within.join("/").as_str(), &*name) {
                    ("", "testsuites") | ("testsuites", "testsuite") => {
                        let found = must(&["name", "tests", "failures", "errors", "time"]);
                        counts.push(found[1..4].iter().map(|n| n.parse().unwrap()).collect::<Vec<usize>>());
                    }
                    ("testsuites/testsuite", "testcase") => {
                        let [class, name, _]: [String; 3] =
                            must(&["classname", "name", "time"]).try_into().unwrap();
                        cases.push(Case { class, name, outcome: String::new() });
                    }
                    ("testsuites/testsuite/testcase", "failure" | "error") => {
                        must(&["message", "type"]);
                        cases.last_mut().unwrap().outcome = name.clone();
                    }
                    ("testsuites/testsuite", "system-out") => {}
                    (within, name) => panic!("{name} in {within}"),
                }
                if !is_empty {
                    within.push(name);
                }
            }
            Event::End(_) => assert!(within.pop().is_some()),
            Event::Text(text) => assert!(
                within.last().is_some_and(|name| ["failure", "error", "system-out"].contains(&&**name))
                    || text.iter().all(u8::is_ascii_whitespace)
            ),
            Event::Eof => break,
            _ => {}
        }
    }
    let of = |outcome: &str| cases.iter().filter(|case| case.outcome == outcome).count();
    assert_eq!(counts, vec![vec![cases.len(), of("failure"), of("error")]; 2]);
    let mut names: Vec<_> = cases.iter().map(|case| (&case.class, &case.name)).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), cases.len(), "{cases:?}");
    cases
}

/// `check ... | grep -q` ended with 0 or 4, as the pipe was closed before or after what was printed.
#[test]
fn a_reader_that_has_seen_enough_changes_no_verdict() {
    let place = place();
    for (rule, code) in [("--max-allocations", 4), ("--max-leaked", 0)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let limit = if code == 4 { "0" } else { "1GiB" };
        let mut check = std::process::Command::new(assert_cmd::cargo::cargo_bin("heapscribe"));
        check.args(["check", "run.hst", rule, limit]).current_dir(place.path("run.hst").parent().unwrap());
        assert_eq!(check.stdout(writer).status().unwrap().code(), Some(code), "{rule}");
    }
}
