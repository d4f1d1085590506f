//! The heap's functions answer a recorded program as they answer it alone, at every edge, and each call
//! is recorded once and under its own name.

use std::path::Path;

use crate::support::{Calls, Place, Report, Run, has, own_calls, skip};

fn check(place: &Place, program: &Path) {
    let run = Run::new(place, program);
    let (plain, recorded) = (run.plain(), run.recorded());
    assert_eq!((plain.code, recorded.code), (0, 0), "{}", recorded.stderr);
    assert_eq!(plain.stdout, recorded.stdout);
    let report = Report::of(&run.trace());
    report.assert_whole(&["stack_no_info"]);
    assert_eq!(report.calls(), Calls::counted(&plain.stdout));
    assert_eq!(own_calls(&run.trace(), program), Calls::counted(&plain.stdout));
}

#[test]
fn on_glibc() {
    let place = Place::new();
    check(&place, &place.compile("semantics.c"));
}

/// musl's own functions call each other through the PLT: memalign calls aligned_alloc, calloc malloc.
#[test]
fn on_musl() {
    if !has("musl-gcc") {
        return skip("musl-gcc is not there");
    }
    let place = Place::new();
    check(&place, &place.compile_with("musl-gcc", "semantics.c", "semantics", &[]));
}

/// A heap that was preloaded too, which recorder and program then use. Its answers at the edges are its own.
#[test]
fn on_other_heaps() {
    for heap in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"] {
        let heap = Path::new("/usr/lib/x86_64-linux-gnu").join(heap);
        if !heap.exists() {
            skip(format_args!("{} is not there", heap.display()));
            continue;
        }
        let place = Place::new();
        let program = place.compile_with("cc", "semantics.c", "semantics", &["-DOTHER_HEAP"]);
        let run = Run::new(&place, &program).env("LD_PRELOAD", &heap);
        let (plain, recorded) = (run.plain(), run.recorded());
        assert_eq!(plain.stdout, recorded.stdout, "{}", heap.display());
        assert_eq!(own_calls(&run.trace(), &program), Calls::counted(&plain.stdout), "{}", heap.display());
    }
}
