//! Heaps of one's own under real programs: the examples in Rust, C and C++, and plug-ins that do what they
//! must not. What a program says and how it ends stay as they are; what it asks for can be recorded, too.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::{Calls, Place, Report, Run, has, heaps, heapscribe, own_calls};
use object::{Object as _, ObjectSymbol as _};

/// Programs with threads, children, pipes and code that is loaded.
const PROGRAMS: [&[&str]; 5] = [
    &["ls", "-l", "/usr/include"],
    &["sh", "-c", "for i in 1 2 3; do echo $i | sed s/2/two/ | tr a-z A-Z; done; exit 7"],
    &[
        "perl",
        "-e",
        "my %h = map { $_ => [1..$_ % 50] } 1..2000; print scalar(keys %h), ' ', join(',', @{$h{33}}), qq(\\n)",
    ],
    &["python3", "-c", PYTHON],
    &["gcc", "-O1", "-S", "-o", "-", STEPS],
];
const PYTHON: &str = "
import json, subprocess, threading
def work(n):
    results[n] = len(json.dumps([{'a': list(range(i % 40))} for i in range(500)]))
results = {}
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(results.items()), subprocess.run(['echo', 'child'], capture_output=True).stdout)";
const STEPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/steps.c");

/// The same output and the same end as without.
#[track_caller]
fn check(heap: &Path, programs: &[&[&str]]) {
    let place = Place::new();
    for command in programs.iter().filter(|command| has(command[0])) {
        let run = Run::new(&place, command[0]).args(&command[1..]).env("PYTHONMALLOC", "malloc");
        let (plain, under) = (run.plain(), run.under(heap));
        let answer = (under.code, under.stdout, under.stderr);
        assert_eq!(answer, (plain.code, plain.stdout, plain.stderr), "{command:?} under {}", heap.display());
    }
}

#[test]
fn in_rust() {
    check(&heaps::in_rust(), &PROGRAMS);
}

#[test]
fn in_c() {
    check(&heaps::in_c(&Place::new()), &PROGRAMS);
}

#[test]
fn in_cxx_for_heaphook() {
    check(&heaps::for_heaphook(&Place::new()), &PROGRAMS);
}

/// The examples, each as one library.
fn whole(place: &Place) -> [PathBuf; 2] {
    ["cc examples/c-heap/heap.c", "c++ examples/heaphook/my_allocator.cpp"].map(|built| {
        let (compiler, source) = built.split_once(' ').unwrap();
        place.whole_heap(compiler, source)
    })
}

#[test]
fn in_one_library() {
    let place = Place::new();
    whole(&place).iter().for_each(|heap| check(heap, &PROGRAMS));
}

/// Nobody else is needed for it, and nothing else of it is seen than of any other library of a heap: what came with
/// the code that is linked in could take the place of a program's own.
#[test]
fn one_library_works_alone() {
    let place = Place::new();
    let program = place.compile("malloc_stats.c");
    for heap in whole(&place) {
        let run = Run::new(&place, &program).env("LD_PRELOAD", &heap).plain();
        assert!(run.code == 0 && run.stderr.starts_with("heapscribe: "), "{}: {run:?}", heap.display());
        let seen = exports(&heap);
        let expected = exports(&heaps::in_rust());
        let more = seen.iter().filter(|name| !expected.contains(*name) && !name.starts_with("_Z"));
        let more: Vec<&String> = more.collect();
        assert_eq!(more, ["heapscribe_get_heap", "heapscribe_heap_nests"], "{}", heap.display());
        assert_eq!(expected.difference(&seen).next(), None, "{}", heap.display());
    }
}

/// What a library shows to others.
fn exports(library: &Path) -> BTreeSet<String> {
    let bytes = std::fs::read(library).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    defined.map(|symbol| symbol.name().unwrap().to_owned()).collect()
}

/// Forks while threads allocate: heaphook's own allocators hang in the child.
#[test]
fn children_find_locks_free() {
    let place = Place::new();
    let program = place.compile("life_fork.c");
    let storm: [&[&str]; 1] = [&[program.to_str().unwrap(), "storm"]];
    check(&heaps::in_c(&place), &storm);
    check(&heaps::for_heaphook(&place), &storm);
}

/// It is the heap that serves, and not the one that the program has without it.
#[test]
fn the_heap_serves() {
    let place = Place::new();
    let run = Run::new(&place, place.compile("malloc_stats.c"));
    assert!(!run.plain().stderr.starts_with("heapscribe: "));
    let [whole_c, whole_cxx] = whole(&place);
    for heap in [heaps::in_rust(), heaps::in_c(&place), heaps::for_heaphook(&place), whole_c, whole_cxx] {
        let under = run.under(&heap);
        assert!(under.stderr.starts_with("heapscribe: "), "{}: {}", heap.display(), under.stderr);
    }
}

/// A table without `run` takes two libraries.
#[test]
fn a_table_is_preloaded_behind_ours() {
    let place = Place::new();
    let libraries = place.path("libs");
    assert!(heapscribe().arg("install-libs").arg(&libraries).output().unwrap().status.success());
    let both = [libraries.join("libheapscribe_table.so"), heaps::in_c(&place)];
    let both = both.map(|path| path.to_str().unwrap().to_owned()).join(" ");
    let run = Run::new(&place, place.compile("malloc_stats.c")).env("LD_PRELOAD", both);
    let preloaded = run.plain();
    assert!(preloaded.code == 0 && preloaded.stderr.starts_with("heapscribe: "), "{}", preloaded.stderr);
}

/// As heaphook's README preloads a library. It did nothing, and said nothing.
#[test]
fn a_table_that_is_preloaded_alone_says_so() {
    let place = Place::new();
    let run = Run::new(&place, "ls").args(["-l", "/usr/include"]);
    for heap in [heaps::in_c(&place), heaps::for_heaphook(&place)] {
        let alone = run.clone().env("LD_PRELOAD", &heap).plain();
        let name = heap.file_name().unwrap().to_str().unwrap();
        let expected = format!(
            "{name}: this heap has no malloc, so preloading it alone has no effect: use `heapscribe run --heap`, \
             or link libheapscribe_table.a into it\n"
        );
        assert_eq!((alone.code, alone.stdout, alone.stderr), (0, run.plain().stdout, expected));
    }
}

/// The library is all that it takes.
#[test]
fn rust_is_preloaded_as_it_is() {
    let place = Place::new();
    let run = Run::new(&place, "ls").args(["-l", "/usr/include"]);
    let preloaded = run.clone().env("LD_PRELOAD", heaps::in_rust()).plain();
    assert_eq!((preloaded.code, preloaded.stdout, &*preloaded.stderr), (0, run.plain().stdout, ""));
}

/// Both at once, and the heap is under the recorder: all that the program asks for is in the trace, and what
/// the heap asks for itself is not.
#[test]
fn recorded_too() {
    let place = Place::new();
    let program = place.compile_with("cc", "semantics.c", "semantics", &["-DOTHER_HEAP"]);
    let heaps = [
        heaps::in_rust(),
        heaps::in_c(&place),
        heaps::for_heaphook(&place),
        place.heap("c++", "crates/heapscribe/tests/programs/heaphook_nested.cpp"),
    ];
    for heap in heaps {
        let run = Run::new(&place, &program).options(["--heap"]).options([&heap]);
        let (under, recorded) = (run.under(&heap), run.recorded());
        assert_eq!((under.code, recorded.code), (0, 0), "{}: {}", heap.display(), recorded.stderr);
        assert_eq!(under.stdout, recorded.stdout, "{}", heap.display());
        let report = Report::of(&run.trace());
        report.assert_whole(&["stack_no_info"]);
        let counted = Calls::counted(&under.stdout);
        assert_eq!(own_calls(&run.trace(), &program), counted, "{}", heap.display());
    }
}

/// Blocks that are not aligned, containers that allocate, exceptions, a lock that no fork knows of.
#[test]
fn a_heaphook_allocator_that_does_what_it_must_not() {
    let place = Place::new();
    let heap = place.heap("c++", "crates/heapscribe/tests/programs/heaphook_nested.cpp");
    check(&heap, &PROGRAMS);
    let program = place.compile("life_fork.c");
    check(&heap, &[&[program.to_str().unwrap(), "storm"]]);
}

#[test]
fn a_heaphook_allocator_that_passes_on() {
    let place = Place::new();
    check(&place.heap("c++", "crates/heapscribe/tests/programs/heaphook_next.cpp"), &PROGRAMS);
}

/// heaphook waited for itself for ever.
#[test]
fn a_start_that_allocates_does_not_hang() {
    let place = Place::new();
    let heap = place.heap("cc", "crates/heapscribe/tests/programs/starts_itself.c");
    let under = Run::new(&place, "echo").args(["done"]).under(&heap);
    assert_eq!((under.code, &*under.stdout, &*under.stderr), (0, "done\n", "a heap starts\n"));
}
