//! What `convert` writes for other tools, held against these tools: their own readers find the figures of the report.
//!
//! | format | reader | Debian package |
//! |---|---|---|
//! | massif | `ms_print` | valgrind |
//! | dhat | `dh_view.js`, in node | valgrind, nodejs |
//! | heaptrack | `heaptrack_print` | heaptrack |
//! | pprof | `go tool pprof` | golang-go |
//! | otlp | the published protobufs, in Python | (`pip install opentelemetry-proto`) |

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

    /// The numbered files of a series.
    fn convert_series(&self, to: &str, more: &[&str]) -> Vec<PathBuf> {
        let first = self.convert(to, more);
        let name = first.file_name().unwrap().to_string_lossy().into_owned();
        let (stem, rest) = name.split_once('.').unwrap();
        let numbered = (1..).map(|n| first.with_file_name(format!("{stem}.{n:04}.{rest}")));
        numbered.take_while(|path| path.is_file()).collect()
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

/// What `go tool pprof` counts of a kind.
fn pprof_total(profile: &Path, kind: &str) -> u64 {
    let text = printed(Command::new("go").args(["tool", "pprof", "-raw"]).arg(profile));
    let mut lines = text.lines().skip_while(|line| *line != "Samples:").skip(1);
    let kinds: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    let at = kinds.iter().position(|of| of.split('/').next() == Some(kind)).unwrap();
    // A sample is its figures and its locations; the lines of its labels have no figures before a colon.
    let samples = lines.take_while(|line| *line != "Locations").filter_map(|line| line.split_once(": "));
    let figures = samples.filter_map(|(figures, _)| figures.split_whitespace().nth(at)?.parse::<u64>().ok());
    figures.sum()
}

#[test]
fn pprof_finds_all_four_kinds_whole_and_in_steps() {
    if !has("go") || !has("perl") {
        return skip("go or perl is not there (apt-get install golang-go perl)");
    }
    let recorded = Recorded::new();
    let profile = recorded.convert("pprof", &[]);
    for (kind, figure) in [
        ("alloc_objects", "/allocations"),
        ("alloc_space", "/bytes_allocated"),
        ("inuse_objects", "/leaked/blocks"),
        ("inuse_space", "/leaked/bytes"),
    ] {
        assert_eq!(pprof_total(&profile, kind), recorded.figure(figure), "{kind}");
    }
    let step_ns = recorded.figure("/duration_ns") / 3 + 1;
    let series = recorded.convert_series("pprof", &["--every", &format!("{step_ns}ns")]);
    assert_eq!(series.len(), 3, "{series:?}");
    let sum: u64 = series.iter().map(|profile| pprof_total(profile, "alloc_space")).sum();
    assert_eq!(sum, recorded.figure("/bytes_allocated"));
    assert_eq!(pprof_total(&series[2], "inuse_space"), recorded.figure("/leaked/bytes"));
}

/// The published description of the messages decodes the file; its sums are those of the report.
#[test]
fn opentelemetry_reads_its_profiles() {
    let python = std::env::var("HEAPSCRIBE_OTLP_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let import = "import opentelemetry.proto.profiles.v1development.profiles_pb2 as p; p.Stack";
    let output = Command::new(&python).args(["-c", import]).output();
    if !has("perl") || !output.is_ok_and(|output| output.status.success()) {
        return skip("perl or opentelemetry's protobufs are not there (pip install opentelemetry-proto)");
    }
    let recorded = Recorded::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/otlp_sums.py");
    let text = printed(Command::new(&python).arg(script).arg(recorded.convert("otlp", &[])));
    let sums: Value = serde_json::from_str(&text).unwrap();
    for (kind, figure) in [
        ("alloc_objects", "/allocations"),
        ("alloc_space", "/bytes_allocated"),
        ("inuse_objects", "/leaked/blocks"),
        ("inuse_space", "/leaked/bytes"),
    ] {
        assert_eq!(sums[kind], recorded.figure(figure), "{kind} {sums}");
    }
    assert!(sums["functions"].as_array().unwrap().contains(&"Perl_safesysmalloc".into()), "{sums}");
}
