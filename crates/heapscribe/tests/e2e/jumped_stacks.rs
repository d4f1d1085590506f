//! Hooks that are left for good while they define a stack: a program with one thread has signals come meanwhile.

use crate::support::{Place, Report, Run};

const LEAST_BYTES: u64 = 16;
const DEPTH: usize = 14;

/// The bits that the functions on the way to a block spell, the leaf's caller the lowest.
fn bits_of(functions: &[&str]) -> u64 {
    let is_right = functions.iter().rev().map(|function| u64::from(*function == "right"));
    is_right.fold(0, |bits, bit| bits << 1 | bit)
}

/// Each stack is still that of its blocks: none has the number of one that was begun and left, and none is lost since the
/// lock was not given back.
#[test]
fn stacks_are_right_when_handlers_jump_out_of_their_definition() {
    let place = Place::new();
    let program = place.compile("jumped_stacks.c");
    let heap = place.library("asheap.c", "asheap.so", &[]);
    let run = Run::new(&place, &program).env("LD_PRELOAD", &heap);
    let (plain, recorded) = (run.plain(), run.recorded());
    assert_eq!((plain.code, &plain.stdout), (recorded.code, &recorded.stdout), "{}", recorded.stderr);
    let report = Report::with(&["--top", "20000"], &run.trace());
    report.assert_whole(&["reentered", "stack_no_info", "unknown_block"]);
    let mut seen = 0;
    for stack in report.json["stacks"].as_array().unwrap() {
        let frames = stack["frames"].as_array().unwrap();
        let names: Vec<&str> = frames.iter().map(|f| f["function"].as_str().unwrap_or("?")).collect();
        if names.first() != Some(&"leaf") {
            continue;
        }
        let way: Vec<&str> = names.iter().copied().filter(|name| ["left", "right"].contains(name)).collect();
        assert_eq!((way.len(), names.last()), (DEPTH, Some(&"_start")), "{names:?}");
        let bytes = LEAST_BYTES + bits_of(&way);
        let is_left = stack["count"] == 0; // between the block's place in the table and its event
        let (of, ends) = if is_left { ("leaked", ["bytes", "bytes"]) } else { ("size", ["min", "max"]) };
        let found = ends.map(|end| stack[of][end].as_u64());
        assert_eq!(found, [Some(bytes); 2], "{stack}");
        seen += 1;
    }
    assert!(seen > 3000, "{seen} stacks");
}
