//! `diff` finds the difference that a program was told to make, also when it was built again.

mod support;

use support::{Place, Run, heapscribe};

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
