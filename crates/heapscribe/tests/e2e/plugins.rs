//! Plug-ins that are loaded one after the other at the same address keep their own blocks (heaptrack puts
//! all of them down to the first).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::support::{Place, Report, Run};
use heapscribe_formats::{Scratch, Trace};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::{CodeAddress, StackId};
use heapscribe_wire::record::Event;

const PLUGINS: [&str; 4] = ["plug_a.so", "plug_b.so", "plug_c.so", "plug_d.so"];

fn record(place: &Place, how: &str) -> (String, Report) {
    let define = |name: &str| format!("-DNAME=\"{name}\"");
    let plugins: Vec<PathBuf> =
        PLUGINS.iter().map(|name| place.library("plug.c", name, &[&define(name)])).collect();
    let run = Run::new(place, place.compile("plugins.c")).args([how]).args(&plugins);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    report.assert_whole(&[]);
    assert_eq!(numbered_twice(&run.trace()), 0, "stacks that no plug-in is on have got another number");
    (ended.stdout, report)
}

/// How many stacks without any plug-in calls were made by under more than one number: those of modules that stay keep
/// theirs. (Nodes between may be defined again.)
fn numbered_twice(trace: &Path) -> usize {
    let trace = Trace::open(std::fs::read(trace).unwrap()).unwrap();
    let (mut nodes, mut through, mut places) = (HashMap::new(), HashSet::new(), Vec::new());
    let process = trace.processes()[0].index;
    let define = |id: StackId, definition: &Definition<'_>| match definition {
        Definition::Module(module) if PLUGINS.iter().any(|name| module.name.ends_with(name.as_bytes())) => {
            places.push(module.start..module.end);
        }
        Definition::Node(node) => {
            nodes.insert(id, (node.parent, node.pc));
            let is_through = places.iter().any(|place| place.contains(&node.pc.0));
            if is_through || through.contains(&node.parent) {
                through.insert(id);
            }
        }
        _ => {}
    };
    let mut scratch = Scratch::default();
    trace.definitions(process, &mut scratch, define).unwrap();
    let mut called = HashSet::new();
    for entry in trace.chunks() {
        let chunk = trace.load_chunk(entry, &mut scratch).unwrap();
        let note = |_, event: &Event| match event {
            Event::Alloc { stack, .. } | Event::Realloc { stack, .. } => drop(called.insert(*stack)),
            _ => {}
        };
        chunk.for_each(note).unwrap();
    }
    called.retain(|stack| !through.contains(stack) && nodes.contains_key(stack));
    assert!(!called.is_empty(), "the program has called the heap itself");
    let caller = |(stack, _): &(StackId, CodeAddress)| nodes.get(stack).copied();
    let path = |stack| std::iter::successors(nodes.get(stack).copied(), caller).map(|(_, pc)| pc);
    let paths: HashSet<Vec<CodeAddress>> = called.iter().map(|stack| path(stack).collect()).collect();
    called.len() - paths.len()
}

/// Blocks that the function `make` of a module made and nobody freed.
fn left_by(report: &Report, module: &str) -> u64 {
    let stacks = report.json["stacks"].as_array().unwrap().iter();
    let made = stacks.filter(|s| {
        let frame = &s["frames"][0];
        frame["function"] == "make" && frame["module"].as_str().is_some_and(|m| m.ends_with(module))
    });
    made.map(|s| s["leaked"]["blocks"].as_u64().unwrap()).sum()
}

#[test]
fn each_has_its_own_hundred() {
    let (said, report) = record(&Place::new(), "alone");
    assert_eq!(said, "same address 1\n");
    assert_eq!(PLUGINS.map(|name| left_by(&report, name)), [100, 100, 100, 0]);
}

/// While one thread allocates and another loads and closes a plug-in of its own, over and over.
#[test]
fn also_in_a_race() {
    let place = Place::new();
    for _ in 0..5 {
        let (_, report) = record(&place, "racing");
        assert_eq!(PLUGINS.map(|name| left_by(&report, name)), [100, 100, 100, 0]);
        let stacks = report.json["stacks"].as_array().unwrap();
        let lost: Vec<_> = stacks.iter().filter(|s| s["frames"][0]["module"].is_null()).collect();
        assert!(
            lost.is_empty(),
            "{} stacks of modules that were never closed have no module: {:?}",
            lost.len(),
            lost[0]
        );
    }
}
