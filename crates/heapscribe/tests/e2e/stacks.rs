//! Whatever a program does with its stacks - frames of all shapes, exceptions, jumps, signals, fibers, code
//! that comes and goes - it does the same recorded, the stacks are those that were there, and a walk that
//! leans on the one before it finds what a walk from scratch finds (HEAPSCRIBE_VERIFY_STACKS).

use std::process::Command;

use crate::support::{Place, Report, Run};

/// A part of a program, why its stacks may be cut, and what must be true of them.
struct Part {
    name: &'static str,
    cuts: &'static [&'static str],
    check: fn(&Report),
    /// How many stacks to look at, those with the most bytes: what parts are known by is among them.
    top: &'static str,
}

const fn part(name: &'static str, cuts: &'static [&'static str], check: fn(&Report)) -> Part {
    Part { name, cuts, check, top: "150" }
}

/// What the program that loads libraries is told to load.
const LIBRARIES: [&str; 4] = ["first.so", "second.so", "lazy.so", "other.so"];

fn check(name: &str, parts: &[Part]) {
    let place = Place::new();
    let program = place.path("stacks");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/stacks_build.sh");
    let status = Command::new("sh").arg(script).arg(place.path("")).arg(name).status().unwrap();
    assert!(status.success(), "{name} can not be compiled");
    let libraries = LIBRARIES.map(|library| place.path(library));
    for part in parts {
        println!("{name} {}", part.name);
        let run = Run::new(&place, &program).args([part.name]).args(&libraries);
        let run = run.env("HEAPSCRIBE_VERIFY_STACKS", "1");
        let (plain, recorded) = (run.plain(), run.recorded());
        assert_eq!((plain.code, &plain.stdout), (0, &recorded.stdout), "{}", recorded.stderr);
        assert_eq!(recorded.code, 0, "{}", recorded.stderr);
        let no_files = place.path("").display().to_string(); // nobody has debug files of these programs
        let report = Report::with(&["--top", part.top, "--debug-dir", &no_files], &run.trace());
        report.assert_whole(part.cuts);
        assert_eq!(report.json["stack_check"]["different"], 0);
        assert!(report.json["stack_check"]["verified"].as_u64() > Some(0));
        (part.check)(&report);
    }
}

/// The functions of each stack on which blocks of exactly this size were made, innermost first.
fn stacks_of(report: &Report, size: u64) -> Vec<Vec<String>> {
    let stacks = report.json["stacks"].as_array().unwrap().iter();
    let found: Vec<_> = stacks
        .filter(|s| s["size"]["min"] == size && s["size"]["max"] == size)
        .map(|s| {
            let frames = s["frames"].as_array().unwrap().iter();
            frames.map(|f| f["function"].as_str().or(f["cut"].as_str()).unwrap_or("?").to_owned()).collect()
        })
        .collect();
    assert!(!found.is_empty(), "no stack has blocks of {size} bytes");
    found
}

/// How often a function is in a stack.
fn times(stack: &[String], function: &str) -> usize {
    stack.iter().filter(|f| *f == function).count()
}

/// How many frames the C library has at most around `main` and around the functions of threads.
const OUTER: usize = 3;

/// Checks that the stacks of blocks of this size begin with the functions `first`, and end with `last` but
/// for a few frames of the C library, whose names not every machine has. Names of C++ are told by what they
/// contain.
fn between(report: &Report, size: u64, first: &[&str], last: &[&str]) {
    let are = |found: &[String], wanted: &[&str]| {
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(f, w)| f.contains(w))
    };
    for stack in stacks_of(report, size) {
        assert!(stack.len() >= first.len() && are(&stack[..first.len()], first), "{first:?} {stack:?}");
        let ends = |outer| {
            stack
                .len()
                .checked_sub(outer)
                .is_some_and(|end| are(&stack[end.saturating_sub(last.len())..end], last))
        };
        assert!((1..=OUTER).any(ends), "{last:?} {stack:?}");
    }
}

fn recursion(report: &Report) {
    let mut depths: Vec<_> = stacks_of(report, 77777).iter().map(|s| times(s, "down")).collect();
    depths.sort_unstable();
    assert_eq!(depths, [501, 3001]);
    between(report, 77777, &["block", "down", "down"], &["down", "recursion", "run_part", "main"]);
}

/// Root and leaf are there, and what was left out between them is where the recursion is.
fn very_deep_recursion(report: &Report) {
    for stack in stacks_of(report, 88888) {
        let gap = stack.iter().position(|f| f == "stack_depth").expect("frames are left out");
        assert_eq!(stack[..2], ["block", "very_deep"]);
        assert!(stack[1..gap].iter().all(|f| f.starts_with("very_deep")), "{:?}", &stack[..gap]);
        assert!((513..=1024).contains(&gap), "{gap} frames before the gap");
        assert_eq!(stack.len() - gap - 1, 512, "frames after the gap");
    }
    between(
        report,
        88888,
        &["block", "very_deep"],
        &["very_deep", "very_deep_recursion", "run_part", "main"],
    );
}

#[test]
fn control_flow() {
    let parts = [
        part("trees", &[], |_| ()),
        Part { top: "5", ..part("recursion", &[], recursion) },
        part("very_deep_recursion", &["stack_depth"], very_deep_recursion),
        part("exceptions", &[], |report| {
            between(report, 4444, &["block", "throws", "throws"], &["exceptions", "run_part", "main"]);
            between(report, 3333, &["block", "exceptions", "run_part", "main"], &["main"]);
        }),
        part("forced_unwinding", &[], |_| ()),
        part("callbacks", &[], |report| {
            between(report, 1040, &["block", "compare"], &["callbacks", "run_part", "main"]);
        }),
        part("long_jumps", &[], |report| {
            between(
                report,
                1503,
                &["block", "marks_from", "marks_from", "marks_from", "marks_from"],
                &["main"],
            );
        }),
        part("hand_made", &["stack_rule"], |report| {
            between(report, 9004, &["block", "in_hand_made", "through_pushes", "hand_made"], &["main"]);
            between(report, 9005, &["block", "in_hand_made", "through_dropped_cfi", "hand_made"], &["main"]);
        }),
    ];
    check("flow", &parts);
}

#[test]
fn signals() {
    let handler = |report: &Report| {
        between(report, 1700, &["block", "in_handler", "on_signal"], &["main"]);
        assert!(stacks_of(report, 1700).iter().all(|s| times(s, "raises") >= 1));
    };
    let parts = [
        part("own_stack", &[], handler),
        part("alternate_stack", &[], handler),
        part("jump_out", &[], |report| {
            between(report, 1700, &["block", "in_handler", "on_signal"], &["jump_out", "run_part", "main"]);
        }),
        part("stack_overflow", &["stack_bounds"], |report| {
            let stacks = stacks_of(report, 1700);
            assert!(stacks.iter().all(|s| s[..3] == ["block", "in_handler", "on_signal"]));
        }),
        // gcc 12 still says of `realigned` at its `ret` that rbp is saved where rbp points to, when it is restored
        // already: what is read there may lie outside of the stack.
        part("interrupted_anywhere", &["stack_rule", "stack_bounds"], |report| {
            let stacks = stacks_of(report, 1700);
            let whole = stacks.iter().filter(|s| times(s, "runs") == 1);
            assert!(whole.count() * 20 >= stacks.len() * 19, "more than a few are cut");
        }),
    ];
    check("signals", &parts);
}

#[test]
fn stacks_that_come_and_go() {
    let fiber = |report: &Report| {
        for stack in stacks_of(report, 1600) {
            assert_eq!(&stack[..2], ["block", "fiber_frames"]);
            let frames = times(&stack, "fiber_frames");
            assert_eq!(stack[1 + frames], "fiber_main");
            assert!(stack.len() <= frames + 4 && frames <= 13, "{stack:?}");
        }
    };
    let children = |report: &Report| {
        between(
            report,
            1900,
            &["block", "in_child", "forks"],
            &["forks", "children", "", "run_part", "main"],
        );
        let mut depths: Vec<_> = stacks_of(report, 1900).iter().map(|s| times(s, "forks")).collect();
        depths.sort_unstable();
        assert_eq!(depths, (1..=20).collect::<Vec<_>>());
    };
    let parts = [
        part("fibers_in_turn", &["stack_no_info"], fiber),
        part("stacks_come_and_go", &["stack_no_info"], fiber),
        part("fibers_wander", &["stack_no_info"], fiber),
        part("merged_with_own", &["stack_no_info"], fiber),
        part("many_fibers", &["stack_no_info"], fiber),
        part("given_stacks", &[], |report| {
            between(report, 1800, &["block", "thread_main"], &["thread_main"])
        }),
        part("threads_in_waves", &[], |report| {
            between(report, 1800, &["block", "thread_main"], &["thread_main"])
        }),
        part("child_by_vfork", &[], children),
        part("child_by_fork", &[], children),
    ];
    check("fibers", &parts);
}

#[test]
fn code_that_comes_and_goes() {
    let plugins = |report: &Report| {
        for (size, file) in [(5000, "first.so"), (5600, "second.so")] {
            between(report, size, &["deeper"], &["main"]);
            let stacks = report.json["stacks"].as_array().unwrap();
            let of_plugin = |f: &serde_json::Value| f["function"] == "deeper" || f["function"] == "enter";
            for stack in stacks.iter().filter(|s| s["size"]["min"] == size && s["size"]["max"] == size) {
                let frames = stack["frames"].as_array().unwrap();
                assert_eq!(frames.iter().filter(|f| f["function"] == "enter").count(), 1);
                let is_there = |f: &serde_json::Value| f["module"].as_str().unwrap().ends_with(file);
                assert!(frames.iter().filter(|f| of_plugin(f)).all(is_there), "{stack}");
            }
        }
    };
    let parts = [
        part("plugins", &[], plugins),
        part("plugins_in_a_race", &[], plugins),
        part("lazy_binding", &["stack_rule"], |report| {
            let first = ["block", "from_plugin", "other", "calls_other", "bind_now", "lazy_binding"];
            between(report, 2500, &first, &["run_part", "main"]);
        }),
        part("generated_code", &["stack_no_info"], |report| {
            let first = ["block", "from_generated", "", "through_generated"]; // nothing names generated code
            between(report, 3001, &first, &["generated_code", "run_part", "main"]);
            between(report, 3500, &first[..3], &["generated_code", "run_part", "main"]);
            assert!(stacks_of(report, 3500).iter().all(|s| times(s, "passed_over") == 0));
            let stacks = report.json["stacks"].as_array().unwrap().iter();
            for stack in stacks.filter(|s| s["size"]["min"] == 3500) {
                let guessed = stack["frames"].as_array().unwrap().iter().map(|f| f["guessed"] == true);
                assert_eq!(guessed.take(4).collect::<Vec<_>>(), [false, false, false, true]);
            }
        }),
    ];
    check("code", &parts);
}
