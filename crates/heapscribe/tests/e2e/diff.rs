//! `diff` finds the difference that a program was told to make, also when it was built again.

use crate::support::{Place, Run, heapscribe};

/// Records the program, built with these flags, and what it is told to do.
fn recorded(place: &Place, flags: &[&str], [kept, passed]: [u64; 2]) -> std::path::PathBuf {
    let program = place.compile_with("cc", "differs.c", "differs", flags);
    let run = Run::new(place, &program).args([kept, passed].map(|n| n.to_string()));
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    run.trace()
}

fn diff(places: [&std::path::Path; 2], by: &str) -> serde_json::Value {
    let output = heapscribe().args(["diff", "--json", "--by", by]).args(places).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Growth of the stacks in which a function stands.
fn growth(diff: &serde_json::Value, direction: &str, function: &str) -> Vec<i64> {
    let stacks = diff[direction]["largest"].as_array().unwrap().iter();
    let has = |stack: &&serde_json::Value| {
        stack["frames"].as_array().unwrap().iter().any(|frame| frame["function"] == function)
    };
    stacks.filter(has).map(|stack| stack["change"]["compared"].as_i64().unwrap()).collect()
}

#[test]
fn what_a_program_does_more_and_less() {
    let [before, after] = [Place::new(), Place::new()];
    let first = recorded(&before, &[], [100, 5000]);
    // Another build: other addresses, other module, other build id.
    let second = recorded(&after, &["-Wl,--build-id", "-falign-functions=256"], [350, 3000]);
    let live = diff([&first, &second], "live");
    assert_eq!(growth(&live, "grew", "kept"), [250 * 100]);
    assert_eq!(live["change"]["compared"], 250 * 100);
    let count = diff([&first, &second], "count");
    assert_eq!(growth(&count, "grew", "kept"), [250]);
    assert_eq!(growth(&count, "shrank", "passed"), [-2000]);
    let back = diff([&second, &first], "count");
    assert_eq!(growth(&back, "grew", "passed"), [2000]);
    assert_eq!(growth(&back, "shrank", "kept"), [-250]);
}

/// What is live in a program now and what was live before: its own steps, to the byte.
#[test]
fn two_snapshots_of_a_process() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let place = Place::new();
    let sessions = place.path("sessions");
    std::fs::create_dir(&sessions).unwrap();
    let mut record = heapscribe();
    record.args(["record", "-q", "-o"]).arg(place.path("run.hst")).arg("--session-dir").arg(&sessions);
    record.arg("--").arg(place.compile("steps.c")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut record = record.spawn().unwrap();
    let mut said = BufReader::new(record.stdout.take().unwrap()).lines();
    let mut input = record.stdin.take().unwrap();
    for (line, name) in [("first", "a.hst"), ("second", "b.hst")] {
        assert_eq!(said.next().unwrap().unwrap(), line);
        let mut snapshot = heapscribe();
        snapshot.args(["snapshot", "steps", "--session-dir"]).arg(&sessions).arg("-o").arg(place.path(name));
        assert!(snapshot.output().unwrap().status.success());
        input.write_all(b"\n").unwrap();
    }
    assert!(record.wait().unwrap().success());
    let diff = |args: &[&str]| {
        let output = heapscribe().current_dir(place.path("")).arg("diff").args(args).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let json: serde_json::Value = serde_json::from_str(&diff(&["a.hst", "b.hst", "--json"]).0).unwrap();
    assert_eq!(json["by"], "live");
    assert_eq!(growth(&json, "grew", "second_step"), [200 * 3000]);
    assert_eq!(growth(&json, "shrank", "first_step"), [-50 * 1000]);
    let text = diff(&["a.hst", "b.hst"]).0;
    assert!(text.starts_with("Compared: live bytes\n"), "{text}");
    assert!(text.contains("+600,000 bytes") && text.contains("-50,000 bytes"), "{text}");
    assert!(text.contains("+550,000 bytes"), "the whole: {text}");
    let refused = diff(&["a.hst", "run.hst", "--by", "allocated"]).1;
    assert!(refused.contains("a.hst is a snapshot, which contains only live blocks"), "{refused}");
}
