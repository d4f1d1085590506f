//! What `convert` writes for other tools, held against these tools: their own readers find the figures of the report.
//!
//! | format | reader | Debian package |
//! |---|---|---|
//! | massif | `ms_print` | valgrind |
//! | dhat | `dh_view.js`, in node | valgrind, nodejs |
//! | heaptrack | `heaptrack_print` | heaptrack |

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Place, Report, Run, has, heapscribe, skip};

const DH_VIEW: &str = "/usr/libexec/valgrind/dh_view.js";

/// A program with some hundred stacks, of which some leak, and what the report says of it.
struct Recorded {
    place: Place,
    report: Value,
}

impl Recorded {
    fn new() -> Recorded {
        let place = Place::new();
        let script =
            "my %h; my @a; for (1..3000) { $h{$_ % 700} .= 'x' x ($_ % 50); push @a, 'y' x 20 if $_ % 3 }";
        let run = Run::new(&place, "perl").args(["-e", script]);
        let ended = run.recorded();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let report = Report::of(&run.trace()).json;
        Recorded { place, report }
    }

    fn trace(&self) -> PathBuf {
        self.place.path("run.hst")
    }

    fn convert(&self, to: &str, more: &[&str]) -> PathBuf {
        let out = self.place.path(&format!("out.{to}{}", more.join("")));
        let mut convert = heapscribe();
        convert.args(["convert", "--to", to]).args(more).arg("-o").arg(&out).arg(self.trace());
        let output = convert.output().unwrap();
        assert!(output.status.success(), "{to}: {}", String::from_utf8_lossy(&output.stderr));
        out
    }

    fn figure(&self, pointer: &str) -> u64 {
        self.report.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}"))
    }
}

/// What a program prints.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn with_commas(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(|g| String::from_utf8_lossy(g)).collect();
    groups.join(",")
}

/// Folded stacks from `main` on, as heaptrack cuts them, without files.
fn folded(text: &str) -> BTreeMap<String, u64> {
    let mut stacks = BTreeMap::new();
    for line in text.lines() {
        let (frames, width) = line.rsplit_once(' ').unwrap();
        let frames: Vec<_> =
            frames.split(';').filter(|f| !f.is_empty()).map(|f| f.split(" (").next().unwrap()).collect();
        let main = frames.iter().position(|frame| *frame == "main").unwrap_or(0);
        // heaptrack draws inlined functions above the one that they are in: sets of names are what is alike.
        let mut names = frames[main..].to_vec();
        names.sort_unstable();
        *stacks.entry(names.join(";")).or_insert(0) += width.parse::<u64>().unwrap();
    }
    stacks.retain(|_, width| *width > 0);
    stacks
}

#[test]
fn ms_print_finds_the_peak_and_the_end() {
    if !has("ms_print") || !has("perl") {
        return skip("ms_print or perl is not there (apt-get install valgrind perl)");
    }
    let recorded = Recorded::new();
    let text = printed(Command::new("ms_print").arg(recorded.convert("massif", &[])));
    for figure in ["/peak/bytes", "/leaked/bytes"] {
        let root = format!("100.00% ({}B) (heap allocation functions)", with_commas(recorded.figure(figure)));
        assert_eq!(text.matches(&root).count(), 1, "{root}\n{text}");
    }
    assert!(text.contains(" (peak), ") && text.contains("Perl_safesysmalloc"), "{text}");
}

#[test]
fn dh_view_finds_all_sums() {
    if !has("node") || !has("perl") || !Path::new(DH_VIEW).is_file() {
        return skip("node, perl or dh_view.js is not there (apt-get install nodejs perl valgrind)");
    }
    let recorded = Recorded::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/dh_view.js");
    let text = printed(Command::new("node").arg(script).arg(DH_VIEW).arg(recorded.convert("dhat", &[])));
    let root: Value = serde_json::from_str(&text).unwrap();
    let expected = [
        ("tb", "/bytes_allocated"),
        ("tbk", "/allocations"),
        ("gb", "/peak/bytes"),
        ("gbk", "/peak/blocks"),
        ("eb", "/leaked/bytes"),
        ("ebk", "/leaked/blocks"),
    ];
    for (name, figure) in expected {
        assert_eq!(root[name], recorded.figure(figure), "{name} {root}");
    }
    assert_eq!(root["maxTooSmall"], 0, "a stack holds more at the peak or the end than at most");
    assert!(root["tl"].as_u64().unwrap() > 0);
}

/// Each stack has its figure, not only all together.
#[test]
fn heaptrack_print_finds_each_stack() {
    if !has("heaptrack_print") || !has("perl") {
        return skip("heaptrack_print or perl is not there (apt-get install heaptrack perl)");
    }
    let recorded = Recorded::new();
    let file = recorded.convert("heaptrack", &[]);
    for (theirs, ours, figure) in [
        ("peak", "peak", "/peak/bytes"),
        ("leaked", "leaked", "/leaked/bytes"),
        ("allocations", "count", "/allocations"),
    ] {
        let drawn = recorded.place.path("drawn");
        let mut print = Command::new("heaptrack_print");
        print.arg("-f").arg(&file).arg("-F").arg(&drawn).args(["--flamegraph-cost-type", theirs]);
        printed(print.args(["--disable-builtin-suppressions", "-p", "0", "-a", "0", "-T", "0"]));
        let drawn = folded(&std::fs::read_to_string(drawn).unwrap());
        let folded_by_us = recorded.convert("folded", &["--metric", ours]);
        assert_eq!(drawn, folded(&std::fs::read_to_string(folded_by_us).unwrap()), "{theirs}");
        assert_eq!(drawn.values().sum::<u64>(), recorded.figure(figure), "{theirs}");
    }
}
