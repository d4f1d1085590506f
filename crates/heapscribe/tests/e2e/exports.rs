//! What `convert` writes for other tools, held against these tools: their own readers find the figures of the report.
//!
//! | format | reader | Debian package |
//! |---|---|---|
//! | massif | `ms_print` | valgrind |
//! | dhat | `dh_view.js`, in node | valgrind, nodejs |
//! | heaptrack | `heaptrack_print` | heaptrack |
//! | pprof | `go tool pprof` | golang-go |
//! | otlp | the published protobufs, in Python | (`pip install opentelemetry-proto`) |
//! | parquet, arrow, csv | pyarrow, duckdb, polars | (`pip install pyarrow duckdb polars`) |

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

/// What readers find in the tables of a recording.
fn read_tables(python: &str, directory: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/table_sums.py");
    serde_json::from_str(&printed(Command::new(python).arg(script).arg(directory))).unwrap()
}

/// Sums, each stack by its frames, and each block: those of the report, in all three formats.
#[test]
fn engines_read_the_tables() {
    let python = std::env::var("HEAPSCRIBE_TABLES_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(&python).args(["-c", "import pyarrow"]).output();
    if !has("perl") || !output.is_ok_and(|output| output.status.success()) {
        return skip("perl or pyarrow is not there (pip install pyarrow duckdb polars)");
    }
    let recorded = Recorded::new();
    let figures = [
        ("alloc_objects", "/allocations"),
        ("alloc_bytes", "/bytes_allocated"),
        ("live_objects", "/leaked/blocks"),
        ("live_bytes", "/leaked/bytes"),
    ];
    let folded = recorded.convert("folded", &["--metric", "allocated"]);
    let folded = std::fs::read_to_string(folded).unwrap();
    let mut stacks: Vec<&str> = folded.lines().collect();
    stacks.sort_unstable();
    for format in ["parquet", "arrow", "csv"] {
        let read = read_tables(&python, &recorded.convert(format, &["--events"]));
        let sums = [&read["sums"], &read["duckdb"], &read["polars"]];
        for sums in sums.into_iter().filter(|sums| !sums.is_null()) {
            figures
                .iter()
                .for_each(|(name, of)| assert_eq!(sums[name], recorded.figure(of), "{format} {name}"));
        }
        let lines = read["allocated"].as_object().unwrap().iter().filter(|(_, n)| **n != 0);
        let mut lines: Vec<String> = lines.map(|(stack, n)| format!("{stack} {n}")).collect();
        lines.sort_unstable();
        assert_eq!(lines, stacks, "{format}");
        let events = &read["events"];
        assert_eq!(events["blocks"], recorded.figure("/allocations"), "{format}");
        assert_eq!(events["bytes"], recorded.figure("/bytes_allocated"), "{format}");
        assert_eq!(events["never_freed"], recorded.figure("/leaked/bytes"), "{format}");
        assert_eq!((&events["ages"], &events["unknown_stacks"]), (&true.into(), &0.into()), "{format}");
        if format == "parquet" {
            assert_eq!(read["schema"], "1");
            assert_eq!(read["sorting"], serde_json::json!([0, 1, 2, 3]));
            assert_eq!(read["statistics"], true);
        }
    }
    let step = format!("{}ns", recorded.figure("/duration_ns") / 3 + 1);
    let read = read_tables(&python, &recorded.convert("parquet", &["--every", &step]));
    // In the first third perl may not have called the heap yet.
    assert!((2..=3).contains(&read["windows"].as_u64().unwrap()), "{}", read["windows"]);
    assert_eq!(read["sums"]["alloc_bytes"], recorded.figure("/bytes_allocated"));
}

/// heaptrack's own recordings, raw and interpreted, compressed by both programs: the sums are those that its reader
/// prints, and each stack of the peak, too.
#[test]
fn recordings_of_heaptrack_are_read() {
    const INTERPRET: &str = "/usr/lib/heaptrack/libexec/heaptrack_interpret";
    if !has("heaptrack") || !has("perl") || !has("zstd") || !Path::new(INTERPRET).is_file() {
        return skip("heaptrack, zstd or perl is not there (apt-get install heaptrack zstd perl)");
    }
    let place = Place::new();
    let script = "my @a; for (1..3000) { push @a, 'y' x 20 if $_ % 3; my @b = (1) x ($_ % 7) }";
    let raw = place.path("of.raw.zst");
    let mut record = Command::new("heaptrack");
    printed(record.args(["--raw", "-o"]).arg(place.path("of")).args(["perl", "-e", script]));
    let interpret = "zstd -dc \"$1\" | \"$2\" 2>/dev/null | gzip > \"$3\"";
    let interpreted = place.path("of.interpreted.gz");
    printed(Command::new("sh").args(["-c", interpret, "sh"]).arg(&raw).arg(INTERPRET).arg(&interpreted));
    let mut stacks = Vec::new();
    for (theirs, ours) in [("peak", "peak"), ("leaked", "leaked"), ("allocations", "count")] {
        let drawn = place.path("drawn");
        let mut print = Command::new("heaptrack_print");
        print.arg("-f").arg(&interpreted).arg("-F").arg(&drawn).args(["--flamegraph-cost-type", theirs]);
        printed(print.args(["--disable-builtin-suppressions", "-t", "0"]));
        let drawn = folded(&std::fs::read_to_string(&drawn).unwrap());
        let sum: u64 = drawn.values().sum();
        for file in [&raw, &interpreted] {
            let of_us = place.path("of_us.folded");
            let mut convert = heapscribe();
            convert.args(["convert", "--to", "folded", "--metric", ours, "-o"]).arg(&of_us).arg(file);
            printed(&mut convert);
            let of_us = folded(&std::fs::read_to_string(of_us).unwrap());
            assert_eq!(of_us.values().sum::<u64>(), sum, "{theirs} of {}", file.display());
            // A raw file does not say which build of a file ran, so that no names are taken from it.
            let name = if file == &raw { "perl+0x" } else { "Perl_pp_push" };
            stacks.push(of_us.keys().filter(|stack| stack.contains(name)).count());
        }
    }
    assert!(stacks.iter().all(|found| *found > 0), "{stacks:?}");
    // What is written of it again for heaptrack is the same.
    let again = place.path("again.heaptrack");
    let mut convert = heapscribe();
    printed(convert.args(["convert", "--to", "heaptrack", "-o"]).arg(&again).arg(&interpreted));
    let totals = |file: &Path| -> Vec<String> {
        let mut print = Command::new("heaptrack_print");
        let text = printed(print.arg("--disable-builtin-suppressions").arg(file));
        let is_total = |line: &&str| {
            ["calls to alloc", "peak heap", "total memory"].iter().any(|of| line.starts_with(of))
        };
        let lines = text.lines().filter(is_total).map(|line| line.split(" (").next().unwrap().to_owned());
        lines.collect()
    };
    assert_eq!(totals(&again), totals(&interpreted));
    assert_eq!(totals(&again).len(), 3);
}

/// A file that is cut, or was never one, is said where.
#[test]
fn a_cut_recording_of_heaptrack_is_read_up_to_there() {
    let place = Place::new();
    let file = place.path("cut.heaptrack");
    std::fs::write(&file, "v 10400 3\nX app\nt 1 0\na 10 1\n+ 0\n+ 7\nrubbish\nc 5\n").unwrap();
    let report = Report::of(&file);
    assert_eq!(report.json["bytes_allocated"], 16, "{}", report.json);
    let said = "3 lines make no sense and cannot be read, the first is line 3";
    assert!(report.stderr.contains(said), "{}", report.stderr);
}
