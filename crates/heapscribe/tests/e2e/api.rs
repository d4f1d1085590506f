//! `heapscribe.h` and the crate heapscribe-api: what a program says of itself is in its report, and a
//! program that is not recorded runs as if it had said nothing.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Place, Report, Run, has, heapscribe, skip, until};
use heapscribe_wire::head::Head;
use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::live::walk::{Unit, Units, seen_words, walk};
use heapscribe_wire::named_snapshot::{
    EXTENT_HEADER_BYTES, HEADER_BYTES, Named, RECORDS_OFFSET, inexact, parse_extent,
};
use heapscribe_wire::operation::{RECORD_BYTES, Record};
use serde_json::Value;

/// Compiles a program with the header that `heapscribe header` prints.
pub(crate) fn compile(place: &Place, compiler: &str, source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let header = heapscribe().arg("header").output().unwrap();
    assert!(header.status.success());
    std::fs::write(place.path("heapscribe.h"), header.stdout).unwrap();
    let include = format!("-I{}", place.path("").display());
    let strict = ["-Wall", "-Wextra", "-Werror", &include];
    place.compile_with(compiler, source, name, &[&strict, flags].concat())
}

fn named<'a>(report: &'a Report, list: &str, name: &str) -> &'a Value {
    let all = report.json[list].as_array().unwrap_or_else(|| panic!("no {list}: {}", report.stderr));
    all.iter().find(|entry| entry["name"] == name).unwrap_or_else(|| panic!("no {name} in {all:?}"))
}

/// Whether a function is among the frames of any stack of a list.
fn is_in_stacks(stacks: &Value, function: &str) -> bool {
    let mut frames = stacks.as_array().unwrap().iter().flat_map(|s| s["frames"].as_array().unwrap());
    frames.any(|frame| frame["function"] == function)
}

#[test]
fn marks_sections_and_pools_are_in_the_report() {
    let place = Place::new();
    let program = compile(&place, "cc", "says_c.c", "says_c", &[]);
    let run = Run::new(&place, program);
    let (plain, recorded) = (run.plain(), run.recorded());
    assert_eq!((plain.code, plain.stdout.as_str()), (0, "1\ndone\n"));
    assert_eq!((recorded.code, recorded.stdout.as_str()), (0, "1\ndone\n"));
    let report = Report::of(&run.trace());
    report.assert_whole(&["name_table"]);
    assert_eq!(report.dropped("name_table"), 1, "the mark without a name");

    let mark = named(&report, "marks", "pool filled");
    assert_eq!((&mark["count"], &mark["heap_at_first_bytes"]), (&2.into(), &4096.into()), "{mark}");
    assert!(mark["first_ns"].as_u64() < mark["last_ns"].as_u64());
    assert_eq!(named(&report, "marks", "start")["heap_at_first_bytes"], 0);

    let (parse, number) = (named(&report, "sections", "parse"), named(&report, "sections", "number"));
    assert_eq!(
        (&parse["count"], &parse["ended"], &parse["allocated"]["bytes"]),
        (&3.into(), &3.into(), &330.into())
    );
    assert_eq!((&number["count"], &number["allocated"]["blocks"]), (&3.into(), &3.into()));
    assert!(parse["total_ns"].as_u64() >= number["total_ns"].as_u64());
    assert!(is_in_stacks(&parse["stacks"], "parse"));
    let long = named(&report, "sections", "long");
    assert_eq!((&long["count"], &long["ended"]), (&1.into(), &1.into()), "over several chunks");
    assert_eq!(long["allocated"]["blocks"], 20_000);
    let open = named(&report, "sections", "never ended");
    assert_eq!((&open["count"], &open["ended"]), (&1.into(), &0.into()));

    let pools = &report.json["pools"];
    assert_eq!((&pools["allocated"]["blocks"], &pools["allocated"]["bytes"]), (&4.into(), &160.into()));
    assert_eq!((&pools["peak_bytes"], &pools["leaked"]["bytes"]), (&112.into(), &112.into()), "{pools}");
    assert!(is_in_stacks(&pools["stacks"], "asks_pool"));
    // The heap knows nothing of it: the block around the pool, and the C library's own.
    assert_eq!(report.json["leaked"]["bytes"], 4096);
}

#[test]
fn a_program_that_says_what_it_does_can_be_built_in_every_way() {
    let place = Place::new();
    let ways = [
        ("cc", "says_c.c", "fixed", &["-no-pie", "-fno-pie"][..]),
        ("cc", "says_c.c", "old", &["-std=c99", "-pedantic"]),
        ("c++", "says_cxx.cpp", "cxx", &["-std=c++17", "-fPIE"]),
    ];
    for (compiler, source, name, flags) in ways {
        let program = compile(&place, compiler, source, name, flags);
        let run = Run::new(&place, program);
        let (plain, recorded) = (run.plain(), run.recorded());
        assert_eq!((plain.code, &plain.stdout), (0, &recorded.stdout), "{name}");
        let report = Report::of(&run.trace());
        assert_eq!(named(&report, "marks", "start")["count"], 1, "{name}");
    }
    // Linked for good, there is no library to find.
    for flags in [&["-static"][..], &["-static", "-no-pie"], &["-static-pie"]] {
        let ended = Run::new(&place, compile(&place, "cc", "says_c.c", "static", flags)).plain();
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "1\ndone\n"), "{flags:?}");
    }
}

#[test]
fn a_library_without_undefined_symbols_says_what_it_does() {
    let place = Place::new();
    let flags = ["-shared", "-fPIC", "-Wl,-z,defs"];
    let library = compile(&place, "cc", "says_library.c", "libsays.so", &flags);
    let links = [library.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"];
    let source = place.path("says_main");
    let mut command = Command::new("cc");
    command.arg("-o").arg(&source).arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/says_main.c"));
    assert!(command.args(links).status().unwrap().success());
    let run = Run::new(&place, source);
    assert_eq!((run.plain().code, run.recorded().code), (0, 0));
    let report = Report::of(&run.trace());
    assert_eq!(named(&report, "sections", "library")["allocated"]["bytes"], 77);
}

#[test]
fn stats_count_what_is_recorded() {
    let place = Place::new();
    let run = Run::new(&place, compile(&place, "cc", "stats.c", "stats", &[]));
    let (plain, recorded) = (run.plain(), run.recorded());
    assert_eq!((plain.code, plain.stdout.as_str()), (1, "0000\n"), "not recorded, all zero");
    assert_eq!((recorded.code, recorded.stdout.as_str()), (0, "0000\n"));
}

#[test]
fn a_rust_program_says_the_same() {
    let place = Place::new();
    if !has("rustc") {
        return skip("no rustc");
    }
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../api");
    let api = place.path("libheapscribe_api.rlib");
    let compile = |arguments: &[&str], source: &str, output: &std::path::Path| {
        let mut command = Command::new("rustc");
        command.args(["--edition", "2024", "-O", "-g", "--cap-lints", "allow"]).args(arguments);
        assert!(command.arg("-o").arg(output).arg(source).status().unwrap().success(), "{source}");
    };
    let library = ["--crate-type", "rlib", "--crate-name", "heapscribe_api"];
    compile(&library, &format!("{root}/src/lib.rs"), &api);
    let uses = format!("heapscribe_api={}", api.display());
    let program = place.path("says_rust");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/says_rust.rs");
    compile(&["--extern", &uses], source, &program);
    let run = Run::new(&place, program);
    let (plain, recorded) = (run.plain(), run.recorded());
    assert_eq!((plain.code, plain.stdout.as_str()), (0, "false\n"));
    assert_eq!((recorded.code, recorded.stdout.as_str()), (0, "true\n"));
    let report = Report::of(&run.trace());
    assert_eq!(named(&report, "marks", "start")["count"], 1);
    assert_eq!(named(&report, "sections", "request")["allocated"]["bytes"], 1000);
    assert_eq!(report.json["pools"]["leaked"]["bytes"], 0);
    assert_eq!(report.json["pools"]["peak_bytes"], 500);
}

/// The live blocks of a named snapshot: size, and whether a pool's; and whether it is of one instant. The rest of
/// what it says is checked.
fn blocks_of(path: &std::path::Path, name: &str) -> (Vec<(u64, bool)>, bool) {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let named = Named::parse(&bytes).unwrap();
    assert_eq!(named.name, name.as_bytes());
    let is_exact = named.inexact == inexact::NOT;
    assert!(is_exact || [inexact::BUSY, inexact::LOST_HOLD].contains(&named.inexact), "{named:?}");
    let head = Head::parse(&bytes[HEADER_BYTES..RECORDS_OFFSET]).unwrap();
    let mut at = RECORDS_OFFSET + named.records as usize * RECORD_BYTES;
    let records = bytes[RECORDS_OFFSET..at].as_chunks().0.iter().map(Record::parse);
    assert!(!is_exact || records.filter(|record| record.in_operation).count() == 0, "{name}");
    let mut units = Copied { bytes: vec![0; named.live_units as usize * LIVE_UNIT_BYTES] };
    for _ in 0..named.extents {
        let (header, rest) = bytes[at..].split_first_chunk().unwrap();
        let (offset, length) = parse_extent(header).unwrap();
        let (offset, length) = (offset as usize, length as usize);
        units.bytes[offset..offset + length].copy_from_slice(&rest[..length]);
        at += EXTENT_HEADER_BYTES + length;
    }
    assert_eq!(at, bytes.len());
    let (mut blocks, mut seen) = (Vec::new(), vec![0; seen_words(named.live_units)]);
    walk(&units, head.live_granule_shift, &mut seen, |found| {
        let live = found.unwrap();
        blocks.push((live.slot.size_bytes, live.is_pool));
    })
    .unwrap();
    (blocks, is_exact)
}

struct Copied {
    bytes: Vec<u8>,
}

impl Units for Copied {
    fn units(&self) -> u32 {
        (self.bytes.len() / LIVE_UNIT_BYTES) as u32
    }

    fn unit(&self, number: u32) -> Unit<'_> {
        self.bytes.as_chunks().0.get(number as usize).into()
    }
}

fn said(place: &Place, sessions: &std::path::Path, args: &[&str]) -> String {
    let output = heapscribe()
        .current_dir(place.path(""))
        .args(args)
        .arg("--session-dir")
        .arg(sessions)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Snapshots are listed, one more is asked for from outside, and each is fetched and reported; whether the first
/// two are of one instant is told.
fn downloads(place: &Place, sessions: &std::path::Path, exact: [bool; 2]) {
    let processes: serde_json::Value =
        serde_json::from_str(&said(place, sessions, &["ps", "--json"])).unwrap();
    let of_program = |p: &&Value| p["exe"].as_str().unwrap().ends_with("/snapshots");
    let pid = processes.as_array().unwrap().iter().find(of_program).unwrap()["pid"].to_string();
    said(place, sessions, &["ctl", &pid, "snapshot", "from outside"]);
    let listed: serde_json::Value =
        serde_json::from_str(&said(place, sessions, &["list", "snapshots", "--json"])).unwrap();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["one", "two", "from outside"]);
    for (wanted, blocks, is_exact) in [("one", 1, exact[0]), ("2", 0, exact[1]), ("from outside", 0, true)] {
        said(place, sessions, &["snapshot", &pid, "--download", wanted, "--force", "-o", "fetched.hst"]);
        let report = Report::of(&place.path("fetched.hst"));
        assert_eq!(report.json["name"], if wanted == "2" { "two" } else { wanted });
        assert_eq!(report.json["exact"], is_exact, "{wanted}");
        let number = |part: &str, key: &str| report.json[part][key].as_u64().unwrap();
        let in_pools = if wanted == "one" { (1, 789) } else { (0, 0) };
        assert_eq!((number("pools", "blocks"), number("pools", "bytes")), in_pools, "{wanted}");
        let of_pools = report.json["pools"]["stacks"].as_array().unwrap().iter();
        assert_eq!(
            of_pools.map(|s| s["live"]["bytes"].as_u64().unwrap()).sum::<u64>(),
            in_pools.1,
            "{wanted}"
        );
        // The block around that of the pool counts once, as in a recording.
        let left = number("allocated", "bytes") - number("freed", "bytes");
        assert!(!is_exact || number("live", "bytes") == left, "{wanted}: {}", report.json);
        let stacks = report.json["stacks"].as_array().unwrap().iter();
        let large = stacks.filter(|s| s["live"]["bytes"].as_u64() >= Some(123_456)).count();
        assert_eq!(large, blocks, "{wanted}");
    }
    said(place, sessions, &["ctl", &pid, "snapshot", "two"]);
    is_ambiguous(place, &[&pid, "--session-dir", sessions.to_str().unwrap()]);
}

/// Two snapshots have the name `two`: neither is taken for the other.
fn is_ambiguous(place: &Place, of: &[&str]) {
    let arguments = ["snapshot", "--download", "two", "-o", "two.hst"];
    let output = heapscribe().current_dir(place.path("")).args(arguments).args(of).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: snapshot two is ambiguous: "), "{said}");
    assert!(said.contains("hint: pass its "), "{said}");
    assert!(said.contains("2 (two, taken ") && said.contains("4 (two, taken "), "{said}");
    assert!(!place.path("two.hst").exists());
}

/// The process has ended, and its trace has its snapshots: `fetched.hst` is the last that was fetched of the session.
fn in_trace(place: &Place, trace: &std::path::Path) {
    let output = |args: &[&str]| {
        let output = heapscribe().current_dir(place.path("")).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let trace = trace.to_str().unwrap();
    let listed: Value = serde_json::from_str(&output(&["list", trace, "--json"])).unwrap();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["one", "two", "from outside", "two", "of a child"]);
    let ids: Vec<_> = listed.as_array().unwrap().iter().map(|s| s["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4, 3], "as in the sessions: a child's begin where its parent's ended");
    is_ambiguous(place, &[trace]);
    output(&["snapshot", trace, "--download", "from outside", "-o", "of_trace.hst"]);
    // It counted the block of a pool beside the one that it lies in.
    let one = ["snapshot", trace, "--download", "one", "-o", "one_of_trace.hst"];
    let said = heapscribe().current_dir(place.path("")).args(one).output().unwrap().stderr;
    let live = Report::of(&place.path("one_of_trace.hst")).json["live"]["blocks"].to_string();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains(&format!(": {live} blocks live, written to")), "{live}: {said}");
    let [of_session, of_trace] =
        ["fetched.hst", "of_trace.hst"].map(|name| Report::of(&place.path(name)).json);
    for key in
        ["kind", "pid", "name", "taken_mono_ns", "live", "pools", "allocated", "freed", "threads", "stacks"]
    {
        assert_eq!(of_session[key], of_trace[key], "{key}");
    }
    assert!(of_trace["live"]["blocks"].as_u64() > Some(0));
    let text = output(&["report", "--full", trace]);
    assert!(text.contains("live at the snapshot \"one\""), "{text}");
    output(&["flame", trace, "-o", "calls.folded", "--metric", "count"]);
}

#[test]
fn a_program_keeps_snapshots_of_itself() {
    // They need not be where a processor has so much to do that a thread stands still within an operation.
    until("both snapshots are of one instant", || keeps_snapshots() == [true; 2]);
}

fn keeps_snapshots() -> [bool; 2] {
    let place = Place::new();
    let program = compile(&place, "cc", "snapshots.c", "snapshots", &[]);
    let sessions = place.path("sessions");
    std::fs::create_dir(&sessions).unwrap();
    let script = format!("cd {} && exec {}", place.path("").display(), program.display());
    let run = Run::new(&place, "sh").args(["-c", &script]).options(["--session-dir"]).options([&sessions]);
    let started = run.start();
    until("it has taken its snapshots", || started.said().0 == "1\n");
    let inside = |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let files = inside(sessions.clone()).flat_map(inside).flat_map(inside);
    let mut snapshots: Vec<_> = files
        .filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("snapshot.")))
        .collect();
    snapshots.sort();
    let [one, two] = &snapshots[..] else { panic!("{snapshots:?}") };
    let ((one, is_one_exact), (two, is_two_exact)) = (blocks_of(one, "one"), blocks_of(two, "two"));
    let exact = [is_one_exact, is_two_exact];
    let of_interest = |blocks: &[(u64, bool)]| {
        let mut some = blocks.to_vec();
        some.retain(|(size, is_pool)| *is_pool || *size == 123_456);
        some
    };
    assert_eq!(of_interest(&one), [(123_456, false), (789, true)], "at one address, in two tables");
    assert_eq!(of_interest(&two), []);
    assert!(one.len() < 200, "three threads have up to eight blocks each: {}", one.len());
    downloads(&place, &sessions, exact);
    std::fs::write(place.path("go"), "").unwrap();
    assert_eq!(started.wait().code, 0);
    in_trace(&place, &run.trace());
    let report = Report::of(&run.trace());
    assert_eq!(report.dropped("snapshot"), 2, "a long name and bytes that are no text");
    assert_eq!(report.dropped("held"), 0);
    exact
}
