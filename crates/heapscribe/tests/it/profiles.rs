//! Profiles of other programs through the program: what their own readers print of them, and what is refused.

use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

/// A directory with the profiles, and the program run in it.
struct Work {
    dir: tempfile::TempDir,
}

impl Work {
    fn new() -> Work {
        let dir = tempfile::tempdir().unwrap();
        let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/fixtures/profiles");
        for file in fixtures.read_dir().unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), dir.path().join(file.file_name())).unwrap();
        }
        Work { dir }
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

    /// Standard error of a run that fails.
    fn fails(&self, words: &str) -> String {
        let output = self.output(words);
        assert_eq!(output.status.code(), Some(1), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    }

    fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.run(&format!("report {file} --json --top 1000"))).unwrap()
    }
}

/// Blocks and bytes of a figure, of all and of the stacks together.
fn check(report: &Value, figure: &str, blocks: u64, bytes: u64) {
    let of =
        |at: &Value, key: &str| at[figure][key].as_u64().unwrap_or_else(|| panic!("{figure} {key}: {at}"));
    assert_eq!((of(report, "blocks"), of(report, "bytes")), (blocks, bytes), "{figure}");
    let sum = |key| report["stacks"].as_array().unwrap().iter().map(|stack| of(stack, key)).sum::<u64>();
    assert_eq!((sum("blocks"), sum("bytes")), (blocks, bytes), "stacks of {figure}");
}

/// `go tool pprof -top -unit=b -sample_index=...` prints these sums, and 44008B and 6400B of these functions.
#[test]
fn a_profile_of_go_has_the_sums_of_pprof() {
    let work = Work::new();
    let report = work.json("go.pb.gz");
    check(&report, "live", 47, 43_872);
    check(&report, "allocated", 153, 51_832);
    assert_eq!(
        (&report["kind"], &report["origin"], &report["exact"]),
        (&"profile".into(), &"pprof".into(), &true.into())
    );
    assert!(report.get("at_peak").is_none(), "what is not known has no key: {report}");
    let folded = work.run("convert go.pb.gz --to folded --metric allocated -o /dev/stdout --force");
    let of = |function: &str| -> u64 {
        let lines = folded.lines().filter_map(|line| line.rsplit_once(' '));
        let lines = lines.filter(|(frames, _)| frames.rsplit(';').next() == Some(function));
        lines.map(|(_, width)| width.parse::<u64>().unwrap()).sum()
    };
    assert_eq!((of("main.keepMany"), of("main.churn")), (44_008, 6_400), "{folded}");
}

/// `jeprof --text --show_bytes` and `google-pprof --text --show_bytes` print these totals, of samples 134687 and 136800.
#[test]
fn heap_profiles_as_text_have_the_sums_of_jeprof() {
    let work = Work::new();
    let exact = work.json("jemalloc.heap");
    check(&exact, "live", 44, 135_168);
    assert!(exact.get("allocated").is_none(), "jemalloc did not count it: {exact}");
    let sampled = work.json("jemalloc-sampled.heap");
    check(&sampled, "live", 44, 134_687);
    check(&sampled, "allocated", 77, 136_800);
    assert_eq!((&sampled["exact"], &sampled["sample_mean_bytes"]), (&false.into(), &1024.into()));
    let gperftools = work.json("gperftools.heap");
    check(&gperftools, "live", 43, 52_288);
    check(&gperftools, "allocated", 143, 57_288);
}

/// DHAT itself prints these sums when the program ends; `ms_print` has 40,000 bytes for `keep_many`, and 48,192 bytes at a
/// moment for which massif wrote no stacks.
#[test]
fn files_of_valgrind_have_the_sums_of_its_tools() {
    let work = Work::new();
    let dhat = work.json("dhat.out");
    check(&dhat, "allocated", 143, 57_288);
    check(&dhat, "at_peak", 43, 52_288);
    check(&dhat, "live", 43, 52_288);
    // `dh_view` has "avg lifetime 13,604 instrs" for these 40 blocks: 544,160 by all.
    let most = &dhat["stacks"][0];
    assert_eq!(
        (&dhat["lifetime_unit"], &most["mean_lifetime"]),
        (&"instrs".into(), &13_604.into()),
        "{most}"
    );
    assert!(work.run("report dhat.out --full").contains("in 40 blocks, lived 13,604 instrs on average"));
    let massif = work.json("massif.out");
    assert!(massif["at_peak"].get("blocks").is_none() && massif.get("live").is_none(), "{massif}");
    let folded = work.run("convert massif.out --to folded -o /dev/stdout --force");
    let total: u64 =
        folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(massif["at_peak"]["bytes"], total, "{folded}");
    assert!(folded.contains("main;keep_many;make 40000"), "{folded}");
    assert_eq!(massif["heap_max_bytes"], 48_192);
    insta::assert_snapshot!("massif_report", work.run("report massif.out"));
}

/// Nobody sees a number of blocks that the file does not have, as 0 least of all.
#[test]
fn blocks_that_were_not_counted_are_no_zeros() {
    let work = Work::new();
    for command in ["diff massif.out massif.out", "hotspots massif.out", "report massif.out"] {
        let printed = work.run(command);
        assert!(!printed.contains("0 block"), "{command}: {printed}");
    }
    // Nor of events, of which a profile has none, nor an empty command.
    for diff in ["diff massif.out massif.out", "diff gperftools.heap gperftools.heap"] {
        let printed = work.run(diff);
        assert!(!printed.contains("Events lost") && !printed.contains("()"), "{printed}");
    }
    let diff: Value = serde_json::from_str(&work.run("diff massif.out massif.out --json")).unwrap();
    assert_eq!((&diff["before"]["blocks"], &diff["before"]["bytes"]), (&Value::Null, &40_050.into()));
    assert!(diff["change"]["blocks"].is_null(), "{diff}");
    for format in ["pprof", "otlp"] {
        let refused = work.fails(&format!("convert massif.out --to {format} -o out"));
        assert!(refused.contains("has only who held the heap at its peak"), "{refused}");
    }
}

/// All memory is allocated in the allocator, which explains nothing: `jeprof` leaves its functions out, too.
#[test]
fn hotspots_are_not_of_the_allocator() {
    let work = Work::new();
    for (file, who) in [("dhat.out", "make"), ("jemalloc.heap", "blocks+0x")] {
        let first = work.run(&format!("hotspots {file}"));
        assert!(first.contains(who), "{file}: {first}");
        assert!(!first.contains("malloc"), "{file}: {first}");
    }
}

/// Stacks of which nothing is known but addresses are different stacks.
#[test]
fn addresses_without_names_stay_apart() {
    let work = Work::new();
    let stack = |bytes: u64, address: u64| format!("1: {bytes} [1: {bytes}] @ {address:#x} 0x900 0x901\n");
    let stacks: String = (1..=7).map(|n| stack(n * 100, 0x1000 * n)).collect();
    let profile = format!("heap profile: 7: 2800 [7: 2800] @ heapprofile\n{stacks}\nMAPPED_LIBRARIES:\n");
    std::fs::write(work.dir.path().join("bare.heap"), profile).unwrap();
    std::fs::write(
        work.dir.path().join("empty.heap"),
        "heap profile: 1: 1 [1: 1] @ heapprofile\n1: 1 [1: 1] @ 0x9999\n\nMAPPED_LIBRARIES:\n",
    )
    .unwrap();
    let diff: Value = serde_json::from_str(&work.run("diff empty.heap bare.heap --json")).unwrap();
    assert_eq!(diff["grew"]["stacks"], 7, "{diff}");
    let massif = std::fs::read_to_string(work.dir.path().join("massif.out")).unwrap();
    let nameless = massif.replace("keep_many (blocks.c:7)", "??? (in /src/blocks)");
    let nameless = nameless.replace("make (blocks.c:6)", "??? (in /src/blocks)");
    std::fs::write(work.dir.path().join("stripped.out"), nameless).unwrap();
    let report = work.run("report stripped.out");
    assert!(!report.contains("recursive") && !report.contains("???"), "{report}");
    let folded = work.run("convert stripped.out --to folded -o /dev/stdout --force");
    assert_eq!(folded.lines().count(), 2, "{folded}");
    assert!(folded.contains("main;0x109189;0x109151 40000"), "{folded}");
}

#[test]
fn every_view_takes_a_profile() {
    let work = Work::new();
    insta::assert_snapshot!("profile_report", work.run("report gperftools.heap --top 2"));
    let hotspots = work.run("hotspots go.pb.gz --top 1");
    assert!(hotspots.contains("43,872 bytes") && hotspots.contains("main.keepMany"), "{hotspots}");
    let diff = work.run("diff jemalloc.heap jemalloc-sampled.heap");
    assert!(diff.starts_with("Compared: live bytes (estimated)"), "{diff}");
    assert!(diff.contains("-481 bytes"), "{diff}");
    work.run("flame go.pb.gz -o heap.svg --metric allocated");
    let drawn = std::fs::read_to_string(work.dir.path().join("heap.svg")).unwrap();
    assert!(drawn.contains("Bytes allocated") && drawn.contains("main.churn"));
    work.run("view jemalloc-sampled.heap -o heap.html");
    let page = std::fs::metadata(work.dir.path().join("heap.html")).unwrap();
    assert!(page.len() > 100_000, "{page:?}");
}

/// Written as a profile of ours and read again, sums are as before.
#[test]
fn a_profile_survives_the_way_through_ours() {
    let work = Work::new();
    work.run("convert go.pb.gz --to pprof -o again.pb.gz");
    let again = work.json("again.pb.gz");
    check(&again, "live", 47, 43_872);
    check(&again, "allocated", 153, 51_832);
    assert_eq!(again["exact"], true, "{again}");
    work.run("convert jemalloc-sampled.heap --to pprof -o sampled.pb.gz");
    assert_eq!(work.json("sampled.pb.gz")["sample_mean_bytes"], 1024);
}

/// What has a name in the file lies in no file that we know; the keys that we have for it are nobody else's.
#[test]
fn files_in_exports_are_files() {
    let work = Work::new();
    for (from, name) in
        [("dhat.out", "keep_many"), ("go.pb.gz", "main.keepMany"), ("go.txt", "main.keepMany")]
    {
        for to in ["pprof", "otlp"] {
            work.run(&format!("convert {from} --to {to} -o out --force"));
            let bytes = std::fs::read(work.dir.path().join("out")).unwrap();
            let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(has(name) && !has("place:"), "{from} as {to}");
        }
    }
}

/// Go writes the same heap as text, with the same names: its own reader has no names of it, and the same sums.
#[test]
fn gos_text_is_what_its_other_profile_is() {
    let work = Work::new();
    let text = work.json("go.txt");
    assert_eq!((&text["origin"], &text["exact"]), (&"go-text".into(), &true.into()));
    for metric in ["leaked", "allocated"] {
        let folded = |file: &str| {
            let folded =
                work.run(&format!("convert {file} --to folded --metric {metric} -o /dev/stdout --force"));
            let mut lines: Vec<_> = folded.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(folded("go.txt"), folded("go-of-text.pb.gz"), "{metric}");
    }
}

/// Exit code 3, and where the file ends.
#[test]
fn a_cut_text_is_called_so() {
    let work = Work::new();
    let cut = |file: &str, bytes: usize| {
        let whole = std::fs::read(work.dir.path().join(file)).unwrap();
        std::fs::write(work.dir.path().join("cut"), &whole[..bytes]).unwrap();
        let output = work.output("report cut");
        assert_eq!(output.status.code(), Some(3), "{file}");
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.contains(&format!("the file is cut at byte {bytes}")), "{printed}");
        printed
    };
    assert!(cut("massif.out", 3000).contains("perhaps the largest one"));
    assert!(cut("jemalloc-sampled.heap", 1100).contains("its first lines say 42 of 127894"));
    cut("gperftools.heap", 1000);
    cut("go.txt", 900);
}

#[test]
fn what_a_profile_does_not_have_is_refused_in_words() {
    let work = Work::new();
    let check = |words: &str, expected: &str| {
        let error = work.fails(words);
        assert!(error.contains(expected), "{words}: {error}");
    };
    check("flame go.pb.gz -o x.svg --metric peak", "is a pprof profile, without the figure `peak`");
    check("flame go.pb.gz -o x.svg --metric pinned", "which knows nothing of pages");
    check("hotspots jemalloc.heap --metric temporary", "without the figure `temporary`");
    check("diff jemalloc.heap go.pb.gz --metric allocated", "without the figure `allocated`");
    check("plot go.pb.gz -o x.svg", "is a profile: sums by stack, without events");
    check("convert go.pb.gz --to native -o x.hst", "is a profile: sums by stack, without events");
    check("report go.pb.gz --from 1s", "a profile");
    check("report go.pb.gz --memory", "knows nothing of resident memory");
}

#[test]
fn a_damaged_profile_is_refused_with_the_place() {
    let work = Work::new();
    let whole = std::fs::read(work.dir.path().join("go.pb.gz")).unwrap();
    std::fs::write(work.dir.path().join("cut.pb.gz"), &whole[..whole.len() / 2]).unwrap();
    assert!(work.fails("report cut.pb.gz").contains("cut.pb.gz cannot be unpacked"));
    std::fs::write(work.dir.path().join("bad.heap"), "heap_v2/1\n t*: 1: 1 [0: 0]\n@ 0xno\n").unwrap();
    let error = work.fails("report bad.heap");
    assert!(error.contains("bad.heap: \"0xno\", which is no address, in line 3"), "{error}");
}
