//! heaphook's logs through the program.

use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

/// In the two forms: with commas, with spaces.
const LOGS: [&str; 2] = ["heaplog_29654.log", "heaplog.29657.log"];

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/fixtures/heaphook").join(name)
}

/// A directory with the logs, and the program run in it.
struct Work {
    dir: tempfile::TempDir,
}

impl Work {
    fn new() -> Work {
        let dir = tempfile::tempdir().unwrap();
        for name in LOGS {
            std::fs::copy(fixture(name), dir.path().join(name)).unwrap();
        }
        Work { dir }
    }

    fn with(name: &str, text: &[u8]) -> Work {
        let work = Work::new();
        std::fs::write(work.dir.path().join(name), text).unwrap();
        work
    }

    fn output(&self, words: &str) -> std::process::Output {
        let mut command = Command::cargo_bin("heapscribe").unwrap();
        command.current_dir(self.dir.path()).args(words.split(' ')).output().unwrap()
    }

    fn run(&self, words: &str) -> String {
        let output = self.output(words);
        assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Standard error of a run that ends with this code.
    fn told(&self, words: &str, code: i32) -> String {
        let output = self.output(words);
        assert_eq!(output.status.code(), Some(code), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    }

    fn report(&self, name: &str) -> Value {
        let output = self.output(&format!("report --json {name}"));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn the_report_counts_calls() {
    insta::assert_snapshot!(Work::new().run("report heaplog_29654.log --full"));
}

/// The figures are those that heaphook's own scripts give, without the calls that were refused, and with
/// `realloc(NULL, n)`, which the one for spaces leaves out.
#[test]
fn figures_are_those_of_the_program() {
    let work = Work::new();
    for (name, peak, left, lines) in [(LOGS[0], 79_576, 78_208, 45), (LOGS[1], 79_899, 78_531, 50)] {
        let report = work.report(name);
        assert_eq!(report["peak"]["bytes"], peak, "{name}");
        assert_eq!(report["leaked"]["bytes"], left, "{name}");
        assert_eq!(report["heaphook"]["lines"], lines, "{name}");
        assert_eq!(report["failed"], 2, "{name}");
        assert_eq!((&report["clock"], report.get("rates")), (&Value::from("calls"), None), "{name}");
        assert_eq!(report["duration_ns"].as_u64().unwrap(), lines, "{name}");
    }
}

#[test]
fn a_picture_counts_calls_too() {
    let work = Work::new();
    work.run("plot heaplog_29654.log -o out.svg");
    let svg = std::fs::read_to_string(work.dir.path().join("out.svg")).unwrap();
    for text in ["the log has no times; the axis counts calls", "Allocations per 100 calls", "\ncalls\n"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(!svg.contains("second"));
}

#[test]
fn there_are_no_stacks_to_draw() {
    insta::assert_snapshot!(Work::new().told("flame heaplog_29654.log -o out.svg", 1));
}

/// Through our format and back only addresses are others: the lines are the same when those are left out.
#[test]
fn a_log_comes_back_as_it_was() {
    let work = Work::new();
    let without_pointers = |text: &str| -> Vec<String> {
        let kept = |word: &&str| !word.starts_with("0x");
        text.lines().map(|line| line.split([',', ' ']).filter(kept).collect::<Vec<_>>().join(" ")).collect()
    };
    for (name, style) in [(LOGS[0], "heaphook"), (LOGS[1], "heaphook-0.1")] {
        work.run(&format!("convert {name} --to native -o there.hst --force"));
        work.run(&format!("convert there.hst --to {style} -o back.log"));
        let [there, back] =
            [name, "back.log"].map(|file| std::fs::read_to_string(work.dir.path().join(file)).unwrap());
        assert_eq!(work.run(&format!("dump {name} --style {style}")), back);
        // What no block comes or goes by is not in our format.
        let is_kept = |line: &&str| !line.starts_with("free 0 ") && !line.contains("size");
        let there = there.lines().filter(is_kept).collect::<Vec<_>>().join("\n");
        assert_eq!(without_pointers(&there), without_pointers(&back), "{name}");
        assert_eq!(work.report("back.log")["peak"], {
            let mut peak = work.report("there.hst")["peak"].clone();
            peak["time_ns"] = work.report("back.log")["peak"]["time_ns"].clone();
            peak
        });
    }
}

/// What can be wrong in a log, as it is told, and what the report makes of it.
#[test]
fn what_does_not_fit_together() {
    let check = |text: &str, figures: &str, live_bytes: u64| {
        let work = Work::with("heaplog.1.log", text.as_bytes());
        let report = work.report("heaplog.1.log");
        let tally = report["heaphook"].as_object().unwrap();
        let found: Vec<_> = tally
            .iter()
            .filter(|(key, n)| !["lines", "with_spaces"].contains(&key.as_str()) && **n != 0)
            .map(|(key, n)| format!("{key} {n}"))
            .collect();
        assert_eq!(found.join(", "), figures, "{text}");
        assert_eq!(report["leaked"]["bytes"], live_bytes, "{text}");
    };
    let (a, b) = ("malloc 0x10 100 0\n", "malloc 0x10 30 0\n");
    let free = "free 0x10 0 0\n";
    check(&format!("{a}{b}"), "replaced 1", 30);
    // Another thread's alloc stands before the free that made room for it.
    check(&format!("{a}{b}{free}"), "replaced 1, late 1", 30);
    check(&format!("{a}{b}{free}{free}"), "replaced 1, late 1", 0);
    check(&format!("{a}{b}{}{free}", "free 0 0 0\n".repeat(64)), "null_frees 64, replaced 1", 0);
    check(&format!("{a}{b}realloc 0x10 200 0x20\n"), "replaced 1, late 1", 230);
    check(&format!("{a}malloc 0x20 1 0\nrealloc 0x20 7 0x10\n"), "replaced 1", 7);
    check(&format!("{free}{free}"), "unknown_frees 2", 0);
    check("realloc 0x10 8 0x20\n", "unknown_reallocs 1", 8);
    check("realloc 0 8 0\nmalloc 0 8 0\nrealloc 0 8 0x10\n", "", 8);
    check(&format!("{a}realloc 0x10 0 0\n{a}realloc 0x10 999 0\n"), "", 100);
    check(&format!("{a}malloc_usable_size 0x10 104 0\n"), "usable_size_calls 1", 100);
    check(&format!("{a}\0\0\0\0"), "zeros_at_end 4", 100);
}

/// Sums of such sizes are no numbers of 64 bits: nothing may end in a panic or wrap around.
#[test]
fn sizes_beyond_all_memory_are_told() {
    let most = u64::MAX;
    let text = format!(
        "malloc 0x10 {most} 0\nmalloc 0x20 {most} 0\nfree 0x10 0 0\nfree 0x20 0 0\nmalloc 0x30 24 0\nrealloc 0x30 {most} 0x40\nfree 0x40 0 0\n"
    );
    let work = Work::with("heaplog.1.log", text.as_bytes());
    assert!(work.run("report heaplog.1.log --full").contains("18,446,744,073,709,551,615 bytes"));
    assert!(work.told("pool-size heaplog.1.log", 1).contains("not enough memory"));
    work.told("replay heaplog.1.log --heap tlsf --rounds 1", 0);
    work.told("check heaplog.1.log --max-peak 1 --max-allocated 1 --max-leaked 1", 4);
}

#[test]
fn what_is_no_line_is_named_with_its_byte() {
    let text = b"malloc 0x10 100 0\nalloc, 77, \nSQLite format 3\nmalloc 0x20 1 0\nfree 0x";
    let work = Work::with("heaplog.1.log", text);
    insta::assert_snapshot!(work.told("report heaplog.1.log --json", 3));
    assert_eq!(work.report("heaplog.1.log")["peak"]["bytes"], 101);
    // What the lines were that are none, nobody knows: figures are bounds.
    let bounds = &work.report("heaplog.1.log")["bounds"];
    assert_eq!(bounds["peak"]["bytes"]["low"], 100, "{bounds}");
    let text = String::from_utf8(work.output("report heaplog.1.log --full").stdout).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "the file is damaged at byte 18, and how many events are missing is not known",
        "At its largest the heap was at least 100 bytes; the most that was recorded, 101 B,",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let verdict = work.output("check heaplog.1.log --max-peak 200");
    assert!(String::from_utf8(verdict.stdout).unwrap().starts_with("UNDECIDED"));
}
