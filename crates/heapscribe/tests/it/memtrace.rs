//! memtrace files through the program.

use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/fixtures/memtrace").join(name)
}

fn heapscribe(args: &[&str], file: &str) -> std::process::Output {
    Command::cargo_bin("heapscribe").unwrap().args(args).arg(fixture(file)).output().unwrap()
}

#[test]
fn dumps_are_those_of_memtrace_itself() {
    for name in ["n413_fork_1e-1", "n413_long_1e-2", "script_s7_small_direct", "script_s7_small_mux"] {
        let output = heapscribe(&["dump", "--style", "memtrace"], &format!("{name}.ctf"));
        let expected = std::fs::read(fixture(&format!("{name}.dump.txt"))).unwrap();
        assert!(output.status.success() && output.stdout == expected, "{name}");
    }
}

#[test]
fn what_cannot_be_read_is_named_with_its_byte() {
    let output = heapscribe(&["dump", "--style", "memtrace"], "trunc_in_first_packet.ctf");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("trunc_in_first_packet.ctf: the first packet is cut at byte 100"), "{said}");
}

/// What was in the last packet is not known, but its header says how many objects were. How many of all objects were
/// collected in it nobody knows, so that there may be none left.
#[test]
fn of_a_cut_file_what_is_missing_is_counted() {
    let work = Work::new();
    let whole = std::fs::read(fixture("n413_long_1e-2.ctf")).unwrap();
    let report = |bytes: &[u8]| -> Value {
        std::fs::write(work.dir.path().join("cut.ctf"), bytes).unwrap();
        let output = work.heapscribe("report cut.ctf --json");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let lost = |report: &Value| report["dropped"]["damaged"].as_u64().unwrap_or(0);
    let allocated = |report: &Value| report["allocations"].as_u64().unwrap();
    let all = report(&whole);
    assert_eq!((lost(&all), &all["bounds"]), (0, &Value::Null));
    for bytes in [whole.len() - 10, whole.len() / 2] {
        let cut = report(&whole[..bytes]);
        assert_eq!(cut["bounds"]["leaked"]["bytes"]["low"], 0);
        assert_eq!(cut["bounds"]["peak"]["bytes"]["high"], Value::Null);
        let is_last = bytes == whole.len() - 10;
        assert!(!is_last || lost(&cut) > 0 && allocated(&cut) + lost(&cut) == allocated(&all), "{bytes}");
    }
    let output = work.heapscribe("report cut.ctf");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(3));
    assert!(err.contains("the file ends within the header of a packet at byte "), "{err}");
    assert!(!out.contains("made no calls"), "{out}");
}

/// A packet in the middle is none any more: it was "some processes were still running" of a program that had ended.
#[test]
fn a_file_damaged_in_the_middle_says_so_at_its_byte() {
    let work = Work::new();
    let mut bytes = std::fs::read(fixture("n413_fork_1e-1.ctf")).unwrap();
    let magic = [0xc1, 0x1f, 0xfc, 0xc1];
    let packets: Vec<_> = (0..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(&magic)).collect();
    let at = packets[packets.len() / 2];
    bytes[at] = 0;
    std::fs::write(work.dir.path().join("bad.ctf"), &bytes).unwrap();
    for flags in ["", " --salvage", " --full", " --from 1%"] {
        let output = work.heapscribe(&format!("report bad.ctf{flags}"));
        let out = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(3), "{flags}");
        let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
        let cause = format!("the file is damaged at byte {at}, and how many events are missing is not known");
        assert!(flat.contains(&cause) && !flat.contains("still running"), "{flags}: {out}");
    }
    for flags in ["", " --salvage"] {
        let output = work.heapscribe(&format!("report bad.ctf --json{flags}"));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        for figure in ["leaked", "peak", "allocations"] {
            assert_eq!(json["bounds"][figure]["bytes"]["high"], Value::Null, "{figure}{flags}");
        }
        assert_eq!(json["bounds"]["leaked"]["bytes"]["low"], 0, "{flags}");
        let output = work.heapscribe(&format!("check bad.ctf --max-leaked 1TiB{flags}"));
        let said = String::from_utf8(output.stdout).unwrap();
        let (code, why) = (output.status.code(), "the file is damaged, so live blocks may have been freed");
        assert!(code == Some(3) && said.contains(why), "{flags}: {code:?} {said}");
    }
}

/// Two processes, of which one is converted; its aligned block, its refused call and its early frees have no place.
#[test]
fn what_a_memtrace_file_has_no_place_for_is_counted() {
    let work = Work::new();
    std::fs::copy(fixture("../native-1.0.trace"), work.dir.path().join("run.hst")).unwrap();
    let (code, said) = work.fails("convert run.hst --to memtrace -o run.ctf");
    assert_eq!(code, Some(3), "events were lost, too");
    let counted = "run.ctf: left out, as memtrace has no place for them: 1 alignment, 1 refused call, 2 frees of unknown";
    assert!(said.contains(counted), "{said}");
    assert!(said.contains("; left out: 100 golden (8 events); "), "{said}");
    work.take("n413_long_1e-2.ctf");
    let (code, said) = work.fails("convert n413_long_1e-2.ctf --to memtrace -o same.ctf");
    assert_eq!((code, said.contains("left out")), (Some(0), false), "{said}");
}

#[test]
fn without_stacks_there_are_none() {
    let output = heapscribe(&["dump", "--style", "memtrace", "--no-stacks"], "n413_long_1e-2.ctf");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("\n0000000243 0000000000 alloc 1 len=13 dom=0    0: \n"), "{said}");
}

/// A directory to write to, and the program run in it.
struct Work {
    dir: tempfile::TempDir,
}

impl Work {
    fn new() -> Work {
        Work { dir: tempfile::tempdir().unwrap() }
    }

    fn run(&self, words: &str) -> String {
        let mut command = Command::cargo_bin("heapscribe").unwrap();
        let output = command.current_dir(self.dir.path()).args(words.split(' ')).output().unwrap();
        // The sample of our own format has lost events, which is told by 3.
        let is_told = matches!(output.status.code(), Some(0 | 3));
        assert!(is_told, "{words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn heapscribe(&self, words: &str) -> std::process::Output {
        let mut command = Command::cargo_bin("heapscribe").unwrap();
        command.current_dir(self.dir.path()).args(words.split(' ')).output().unwrap()
    }

    /// The exit code, and what is said on stderr.
    fn fails(&self, words: &str) -> (Option<i32>, String) {
        let mut command = Command::cargo_bin("heapscribe").unwrap();
        let output = command.current_dir(self.dir.path()).args(words.split(' ')).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    /// Brings a fixture here.
    fn take(&self, name: &str) {
        std::fs::copy(fixture(name), self.dir.path().join(name)).unwrap();
    }

    /// The lines of a dump as memtrace has it, without its first two and its last.
    fn dump(&self, name: &str) -> Vec<String> {
        let text = self.run(&format!("dump --style memtrace {name}"));
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }
}

/// Samples, heaps, promotions, bytes: what a report sums of a file.
fn sums(work: &Work, name: &str) -> [serde_json::Value; 4] {
    let report: serde_json::Value =
        serde_json::from_str(&work.run(&format!("report --json {name}"))).unwrap();
    ["memtrace", "bytes_allocated", "peak", "leaked"].map(|key| report[key].clone())
}

#[test]
fn a_file_that_is_written_anew_sums_to_the_same() {
    let work = Work::new();
    for name in
        ["n413_long_1e-2.ctf", "n413_fork_1e-1.ctf", "script_s7_small_mux.ctf", "script_s7_small_direct.ctf"]
    {
        work.take(name);
        work.run(&format!("convert {name} --to memtrace -o new.ctf"));
        assert_eq!(sums(&work, "new.ctf"), sums(&work, name), "{name}");
    }
    let (code, said) = work.fails("convert new.ctf --to memtrace -o new.ctf");
    assert!(code == Some(1) && said.contains("new.ctf is both input and output"), "{said}");
}

#[test]
fn what_a_native_trace_cannot_store_is_named_and_not_made_up_again() {
    let work = Work::new();
    work.take("n413_long_1e-2.ctf");
    let [sampled, ..] = sums(&work, "n413_long_1e-2.ctf");
    let (code, said) = work.fails("convert n413_long_1e-2.ctf --to native -o there.hst");
    let promoted = sampled["promoted"]["objects"].as_u64().unwrap();
    assert!(promoted > 0 && code == Some(3), "{said}");
    assert!(said.contains(&format!("promotions, which a native trace cannot store: {promoted}\n")), "{said}");
    let further = sampled["all"]["samples"].as_u64().unwrap() - sampled["all"]["objects"].as_u64().unwrap();
    assert!(
        said.contains(&format!("of an object, which a native trace cannot store: {further}\n")),
        "{said}"
    );
    let (code, said) = work.fails("convert there.hst --to memtrace -o back.ctf");
    assert!(code == Some(1) && said.contains("there.hst was made of a memtrace file"), "{said}");
    assert!(!work.dir.path().join("back.ctf").exists());
}

#[test]
fn a_trace_of_ours_becomes_objects_with_matched_ends() {
    let work = Work::new();
    std::fs::write(work.dir.path().join("run.hst"), crate::sample::trace()).unwrap();
    work.run("convert run.hst --to memtrace -o run.ctf");
    let lines = work.dump("run.ctf");
    let report: serde_json::Value = serde_json::from_str(&work.run("report --json run.ctf")).unwrap();
    let objects = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
    assert_eq!(report["allocations"], objects(" alloc_ext "));
    assert_eq!(report["frees"], objects(" collect "));
    assert_eq!(report["memtrace"]["external"]["objects"], objects(" alloc_ext "));
    assert!(lines.iter().all(|line| !line.contains(" promote ")) && !lines.is_empty());
}

#[test]
fn reports_give_samples_the_bytes_that_they_stand_for() {
    let work = Work::new();
    work.take("n413_long_1e-2.ctf");
    let text = work.run("report n413_long_1e-2.ctf --full");
    assert!(text.contains("with a rate of 0.01 per word"), "{text}");
    let report: serde_json::Value =
        serde_json::from_str(&work.run("report --json n413_long_1e-2.ctf")).unwrap();
    let samples = report["memtrace"]["all"]["samples"].as_u64().unwrap();
    assert_eq!((samples, &report["memtrace"]["all"]["objects"]), (23, &serde_json::json!(22)));
    assert_eq!(report["bytes_allocated"], samples * 800);
    work.run("flame n413_long_1e-2.ctf -o out.folded --metric allocated");
    let folded = std::fs::read_to_string(work.dir.path().join("out.folded")).unwrap();
    let sum: u64 = folded.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, samples * 800);
    assert!(folded.contains("Stdlib__List.init_aux;Stdlib__List.init_aux;"), "{folded}");
}

#[test]
fn a_part_has_what_was_asked_for() {
    let work = Work::new();
    work.take("n413_fork_1e-1.ctf");
    let all = work.dump("n413_fork_1e-1.ctf");
    work.run("subsample n413_fork_1e-1.ctf -o same.ctf");
    assert_eq!(work.dump("same.ctf"), all);
    work.run("subsample n413_fork_1e-1.ctf --rate 0.05 -o half.ctf");
    let samples = |lines: &[String]| -> f64 {
        let allocs = lines.iter().filter(|line| line.contains(" alloc"));
        allocs.map(|line| line.split(' ').nth(3).unwrap().parse::<f64>().unwrap()).sum()
    };
    let part = samples(&work.dump("half.ctf")) / samples(&all);
    assert!((0.4..0.6).contains(&part), "{part}");
    let end_us = |line: &String| line[..10].parse::<u64>().unwrap();
    let middle = end_us(&all[all.len() / 2]);
    work.run(&format!("subsample n413_fork_1e-1.ctf --to {middle}us -o early.ctf"));
    let early = work.dump("early.ctf");
    assert_eq!(early, all.iter().filter(|line| end_us(line) < middle).cloned().collect::<Vec<_>>());
}

#[test]
fn a_redacted_trace_has_its_shape_but_no_names() {
    let work = Work::new();
    work.take("n413_long_1e-2.ctf");
    work.run("redact n413_long_1e-2.ctf -o blank.ctf");
    let (before, after) = (work.dump("n413_long_1e-2.ctf"), work.dump("blank.ctf"));
    let shape = |line: &String| {
        let words: Vec<_> =
            line.split(' ').map(|w| w.rsplit_once('@').map_or(w, |(_, place)| place)).collect();
        words.iter().map(|w| w.split_once(':').map_or(*w, |(_, span)| span)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(after.iter().map(shape).collect::<Vec<_>>(), before.iter().map(shape).collect::<Vec<_>>());
    let text = work.run("dump --style memtrace blank.ctf");
    assert!(["List", "builder", "p_long", "list.ml"].iter().all(|name| !text.contains(name)), "{text}");
}

#[test]
fn traces_of_ours_are_thinned_and_redacted_too() {
    let work = Work::new();
    std::fs::write(work.dir.path().join("run.hst"), crate::sample::trace()).unwrap();
    let count = |work: &Work, name: &str| {
        let report: serde_json::Value =
            serde_json::from_str(&work.run(&format!("report --json {name}"))).unwrap();
        (report["allocations"].as_u64().unwrap(), report["frees"].as_u64().unwrap())
    };
    work.run("redact run.hst -o blank.hst");
    assert_eq!(count(&work, "blank.hst"), count(&work, "run.hst"));
    assert!(!work.run("dump blank.hst").contains("/usr/"));
    work.run("subsample run.hst --rate 1e-9 -o none.hst");
    assert_eq!(count(&work, "none.hst"), (0, 0));
    work.run("subsample run.hst -o same.hst");
    assert_eq!(count(&work, "same.hst"), count(&work, "run.hst"));
}

#[test]
fn hotspots_are_those_of_memtrace_itself() {
    let work = Work::new();
    work.take("n413_long_1e-2.ctf");
    let shown = work.run("hotspots n413_long_1e-2.ctf");
    let expected = "18,400 bytes (18.0 KiB) in total, by the function that allocates\n\
                    \x20 78.3 %  14,400 bytes (14.1 KiB) in Dune__exe__P_long.(fun) (progs/p_long.ml:6)\n\
                    \x20 21.7 %  4,000 bytes (3.91 KiB) in Stdlib__List.init_aux (list.ml:70)\n";
    assert_eq!(shown, expected);
}

#[test]
fn damage_is_passed_over_on_request_by_every_command() {
    let work = Work::new();
    let whole = std::fs::read(fixture("n413_fork_1e-1.ctf")).unwrap();
    let magic = [0xc1, 0x1f, 0xfc, 0xc1];
    let last = (0..whole.len() - 4).rfind(|at| whole[*at..].starts_with(&magic)).unwrap();
    // The last packet once more, of a version that there is none of.
    let mut bytes = whole.clone();
    bytes.extend_from_slice(&whole[last..]);
    bytes[whole.len() + 28] = 9;
    std::fs::write(work.dir.path().join("bad.ctf"), &bytes).unwrap();
    for command in [
        "report bad.ctf",
        "flame bad.ctf -o x.folded --metric allocated",
        "dump bad.ctf",
        "dump bad.ctf --style memtrace",
        "convert bad.ctf --to native -o x.hst --force",
        "hotspots bad.ctf",
        "subsample bad.ctf -o x.ctf",
        "redact bad.ctf -o x.ctf",
        "diff bad.ctf bad.ctf --metric count",
    ] {
        let told = |words: &str| {
            let mut program = Command::cargo_bin("heapscribe").unwrap();
            let output = program.current_dir(work.dir.path()).args(words.split(' ')).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.code(), said)
        };
        let (strict, salvaged) = (told(command), told(&format!("{command} --salvage")));
        assert!(strict.1.contains(&format!("at byte {}", whole.len())), "{command}: {strict:?}");
        assert!(salvaged.1.contains("; skipping: bytes "), "{command}: {salvaged:?}");
        assert!(!strict.1.contains("skipping"), "{command}: {strict:?}");
        assert_eq!((strict.0, salvaged.0), (Some(3), Some(3)), "{command}");
    }
}
