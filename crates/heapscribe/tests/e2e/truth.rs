//! Programs that ask `backtrace()` at each allocation: every stack of the trace is the one that they found, frame by
//! frame, whatever the compiler was told to do.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use crate::support::static_program::build_static;
use crate::support::{Place, Report, Run, has, skip};
use heapscribe_formats::{Scratch, Trace};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::record::Event;

/// Return addresses, innermost first; the first one is left out, which is in the function that asks.
type Frames = Vec<u64>;

/// How often blocks of a size were made on a stack.
type Counts = BTreeMap<(u64, Frames), u64>;

/// What the program found, and an address in the function that asked.
fn found_by(notes: &Path) -> (Counts, u64) {
    let bytes = fs::read(notes).unwrap();
    let mut words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let (mut counts, mut asks) = (Counts::new(), 0);
    while let Some(size) = words.next() {
        let frames = words.next().unwrap() as usize;
        asks = words.next().unwrap();
        *counts.entry((size, words.by_ref().take(frames - 1).collect())).or_default() += 1;
    }
    (counts, asks)
}

/// What the trace has of the calls from the function that asked. A frame that was guessed, or where the stack was cut,
/// counts as one of 1, which is nowhere.
fn recorded(trace: &Path, asks: u64) -> Counts {
    const FUNCTION_BYTES: u64 = 256;
    const LEAVES: usize = 2; // a recorder that is linked in may have a frame of its own
    let trace = Trace::open(fs::read(trace).unwrap()).unwrap();
    let mut counts = Counts::new();
    for process in trace.processes() {
        let mut stacks: HashMap<u32, Frames> = HashMap::new();
        let mut define = |id: u32, parent: u32, pcs: &[u64]| {
            let outer = stacks.get(&parent).into_iter().flatten();
            let frames = pcs.iter().chain(outer).copied().collect();
            stacks.insert(id, frames);
        };
        let mut scratch = Scratch::default();
        let take = |id: heapscribe_wire::ids::StackId, definition: &Definition<'_>| match definition {
            Definition::Node(node) if node.guesses => define(id.0, node.parent.0, &[node.pc.0, 1]),
            Definition::Node(node) => define(id.0, node.parent.0, &[node.pc.0]),
            Definition::Cut { parent, .. } => define(id.0, parent.0, &[1]),
            _ => {}
        };
        trace.definitions(process.index, &mut scratch, take).unwrap();
        for chunk in trace.chunks().iter().filter(|chunk| chunk.process == process.index) {
            let chunk = trace.load_chunk(chunk, &mut scratch).unwrap();
            let take = |_, event: &Event| {
                let Event::Alloc { size_bytes, stack, .. } = *event else { return };
                let frames = stacks.get(&stack.0).map_or(&[][..], Vec::as_slice);
                let is_of_asking = |pc: &u64| asks.abs_diff(*pc) < FUNCTION_BYTES;
                if let Some(at) = frames.iter().take(LEAVES).position(is_of_asking) {
                    *counts.entry((size_bytes, frames[at + 1..].to_vec())).or_default() += 1;
                }
            };
            chunk.for_each(take).unwrap();
        }
    }
    counts
}

/// Runs a program that writes what it found to a file, and compares.
fn check(program: &Path, arguments: &[&Path], place: &Place, cuts: &[&str], calls_min: u64) {
    let notes = place.path("notes");
    let run = Run::new(place, program).args([&notes]).args(arguments);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    Report::of(&run.trace()).assert_whole(cuts);
    let (truth, asks) = found_by(&notes);
    let found = recorded(&run.trace(), asks);
    let calls: u64 = truth.values().sum();
    assert!(calls >= calls_min, "{calls} calls");
    let differs = |(of, count): &(&(u64, Frames), &u64), other: &Counts| other.get(*of) != Some(*count);
    let only_truth: Vec<_> = truth.iter().filter(|of| differs(of, &found)).collect();
    let only_trace: Vec<_> = found.iter().filter(|of| differs(of, &truth)).collect();
    let (missing, extra) = (only_truth.len(), only_trace.len());
    assert!(
        missing + extra == 0,
        "of {} stacks {missing} are not in the trace, {extra} only there\n{:x?}\n{:x?}",
        truth.len(),
        only_truth.first(),
        only_trace.first()
    );
}

fn check_cpp(flags: &[&str], cuts: &[&str]) {
    let place = Place::new();
    // Only addresses are compared: lines are a quarter of the compiler's work.
    let all = [&["-std=c++20", "-g0"], flags].concat();
    let program = place.compile_with("c++", "stack_truth.cpp", "truth", &all);
    let library = [&["-shared", "-fPIC"], &all[..]].concat();
    let library = place.compile_with("c++", "stack_truth_plugin.cpp", "plugin.so", &library);
    check(&program, &[&library], &place, cuts, 10_000);
}

#[test]
fn optimized() {
    check_cpp(&["-O2"], &[]);
}

#[test]
fn without_frame_pointers() {
    check_cpp(&["-O3", "-fomit-frame-pointer"], &[]);
}

#[test]
fn with_frame_pointers() {
    check_cpp(&["-O2", "-fno-omit-frame-pointer"], &[]);
}

#[test]
fn optimized_at_link_time() {
    check_cpp(&["-O2", "-flto"], &[]);
}

/// A stack in pieces, which the linker has to know of (`gold`). libgcc's `__stack_split_initialize` has no unwinding
/// information: one block of each plug-in that it begins with is cut there.
#[test]
fn on_split_stacks() {
    if !has("ld.gold") {
        return skip(format_args!("split stacks need ld.gold"));
    }
    check_cpp(&["-O2", "-fsplit-stack", "-fuse-ld=gold"], &["stack_no_info"]);
}

#[test]
fn linked_statically() {
    let place = Place::new();
    let program = build_static(Some("stack_truth"));
    check(&program, &[], &place, &[], 1_000);
}

/// Stacks that are unmapped and others mapped in their place, in one mapping and in many, and functions called on other
/// stacks in any order of addresses.
#[test]
fn on_fibers() {
    let place = Place::new();
    let program = place.compile_with("cc", "fiber_truth.c", "truth", &["-O2"]);
    check(&program, &[], &place, &["stack_no_info"], 10_000);
}
