//! Code that a JIT compiler made is part of stacks while its unwinding information is registered.

use crate::support::{Place, Report, Run};

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
