//! Code that a JIT compiler made is part of stacks while its unwinding information is registered.

use std::path::Path;
use std::process::Command;

use crate::support::screens::holds_most;
use crate::support::{Place, Report, Run, has, heapscribe, may_mount_or_skip, skip};

/// Blocks made by `leaf`, and how many of them have a stack that goes back to `main`.
fn blocks(report: &Report, leaf: &str) -> (u64, u64) {
    let stacks = report.json["stacks"].as_array().unwrap().iter();
    let own = stacks.filter(|stack| stack["frames"][0]["function"] == leaf);
    own.fold((0, 0), |(all, known), stack| {
        let blocks = stack["leaked"]["blocks"].as_u64().unwrap();
        let is_known = stack["frames"].as_array().unwrap().iter().any(|frame| frame["function"] == "main");
        (all + blocks, known + if is_known { blocks } else { 0 })
    })
}

#[test]
fn stacks_through_it_are_whole_while_it_is_registered() {
    let place = Place::new();
    let run = Run::new(&place, place.compile("jit.c"));
    let ended = run.recorded();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "object 1\n"), "{}", ended.stderr);
    let report = Report::of(&run.trace());
    assert_eq!(
        ["before", "registered", "between", "with_object", "after"].map(|leaf| blocks(&report, leaf)),
        [(20, 0), (20, 20), (20, 0), (20, 20), (20, 0)]
    );
}

/// The function of no file in the stacks of each of these, which run the same code at the same address.
fn between(report: &Report, callers: [&str; 3]) -> [String; 3] {
    let stacks = report.json["stacks"].as_array().unwrap();
    callers.map(|caller| {
        let frames = stacks.iter().map(|stack| stack["frames"].as_array().unwrap());
        let mut of_it = frames.filter(|frames| frames.iter().any(|frame| frame["function"] == caller));
        let frames = of_it.next().unwrap_or_else(|| panic!("no stack of {caller}"));
        let leaf = frames.iter().position(|frame| frame["function"] == "leaf").unwrap();
        frames[leaf + 1]["function"].as_str().unwrap_or("-").to_owned()
    })
}

/// A compiler that puts three functions at one address, the names of which it says in this way: `PLACE` is where it is.
fn at_one_address(command: &str) -> [String; 3] {
    at_one_address_with(&[], command)
}

/// The same with options of `record`.
fn at_one_address_with(options: &[&str], command: &str) -> [String; 3] {
    let place = Place::new();
    place.compile_with("cc", "jit_reused.c", "jit_reused", &["-fno-omit-frame-pointer"]);
    let command = command.replace("PLACE", place.path("").to_str().unwrap());
    let run = Run::new(&place, "sh").args(["-c", &command]).options(options);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let _ = std::fs::remove_file(ended.stdout.trim());
    between(&Report::of(&run.trace()), ["first", "second", "third"])
}

/// Code that is younger than the time of an event may have run in it all the same, where times are early.
#[test]
fn an_event_that_may_be_early_has_the_names_of_its_step() {
    let of = at_one_address_with(&["--clock", "coarse"], "cd PLACE && exec ./jit_reused dump");
    for (names, own) in of.iter().zip(["a", "b", "c"]) {
        assert!(names.split(" | ").any(|name| name == own), "{own} in {of:?}");
    }
}

/// The dump says when each was there. `third` runs in a thread of its own, whose events come in another chunk.
#[test]
fn an_address_that_was_used_again_has_the_names_of_its_time() {
    assert_eq!(at_one_address("cd PLACE && exec ./jit_reused dump"), ["a", "b", "c"]);
}

/// A map says no times; but it was longer each time.
#[test]
fn of_a_map_the_names_are_known_that_were_there_when_it_was_looked_at() {
    assert_eq!(at_one_address("cd PLACE && exec ./jit_reused map"), ["a", "b", "c"]);
}

/// Its /tmp is gone when it has ended.
#[test]
fn of_a_process_with_mounts_of_its_own_the_map_is_found() {
    if !may_mount_or_skip("a /tmp of its own") || !has("unshare") {
        return;
    }
    // The program itself stays where it was, for its own names.
    let inside = "mount --bind PLACE /mnt && mount -t tmpfs none /tmp && mkdir -p PLACE && \
                  mount --bind /mnt PLACE && cd PLACE && exec ./jit_reused map";
    assert_eq!(at_one_address(&format!("exec unshare --mount sh -c '{inside}'")), ["a", "b", "c"]);
}

/// Nobody looked at the map while it grew.
#[test]
fn where_the_time_of_a_name_is_not_known_all_are_shown() {
    assert_eq!(
        at_one_address("cd PLACE && exec ./jit_reused hasty-map"),
        ["c | b | a", "c | b | a", "c | b | a"]
    );
}

/// Node.js compiles functions anew while it runs: each has the same name at all of its addresses. These are the names of
/// V8's perf map alone, which says where a function begins, and of no call its line.
#[test]
fn a_leak_in_javascript_is_named_by_function_and_file() {
    if !has("node") {
        return skip("node is not installed");
    }
    let place = Place::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/leak.js");
    // It leaves a log in its working directory.
    let command = format!("cd {} && exec node {script}", place.path("").display());
    let run = Run::new(&place, "sh").args(["-c", &command]);
    let run = run.options(["--jit", "--no-interpreter-frames"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    let stacks = report.json["stacks"].as_array().unwrap();
    let is_leak = |frame: &serde_json::Value| frame["function"] == "loadOrder";
    let leaks = stacks.iter().filter(|stack| stack["frames"].as_array().unwrap().iter().any(is_leak));
    let blocks: u64 = leaks.clone().filter_map(|stack| stack["peak"]["blocks"].as_u64()).sum();
    assert!(blocks > 1000, "{blocks} blocks at the peak");
    for stack in leaks {
        let frame = stack["frames"].as_array().unwrap().iter().find(|frame| is_leak(frame)).unwrap();
        assert_eq!(
            (&frame["language"], &frame["file"], &frame["line"]),
            (&"javascript".into(), &script.into(), &serde_json::Value::Null)
        );
        assert_eq!(frame["guessed"], true);
    }
    let first = run.report(&[]);
    assert!(holds_most(&first).contains("loadOrder at leak.js"), "{first}");
    assert!(run.flame_graph("peak").contains("leak.js"), "no file in the flame graph");
}

/// V8 writes the log that this makes to standard output when it cannot write a file.
#[test]
fn a_programs_output_is_its_own_where_no_file_can_be_made() {
    if !has("node") {
        return skip("node is not installed");
    }
    let place = Place::new();
    let trace = place.path("out.hst");
    let record = |directory: &Path| {
        let mut command = heapscribe();
        command.args(["record", "--jit", "--force", "-o"]).arg(&trace).arg("--");
        command.args(["node", "-p", "process.env.NODE_OPTIONS ?? 'none'"]).current_dir(directory);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(record(Path::new("/proc")), "none\n");
    let options = "--perf-basic-prof --interpreted-frames-native-stack\n";
    assert_eq!(record(&place.path("")), options);
}

/// A method that the JVM has compiled is named; of lines a perf map has none.
#[test]
fn a_leak_in_java_is_named_by_its_method() {
    if !has("java") || !has("javac") {
        return skip("there is no JDK (apt-get install default-jdk-headless)");
    }
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/Leak.java");
    let compiled = Command::new("javac").arg("-d").arg(place.path(".")).arg(source).output().unwrap();
    assert!(compiled.status.success(), "{compiled:?}");
    let options = ["-XX:+UseSerialGC", "-XX:MaxDirectMemorySize=256m", "-cp"];
    let run = Run::new(&place, "java").args(options).args([place.path(".").as_os_str()]).args(["Leak"]);
    let run = run.options(["--jit"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    // What it prints stays as it is.
    assert!(!ended.stderr.contains("Picked up"), "{}", ended.stderr);
    let first = run.report(&[]);
    assert!(holds_most(&first).contains("Leak::loadOrder"), "{first}");
    assert!(run.flame_graph("peak").contains("Leak::loadOrder"), "no method in the flame graph");
}
