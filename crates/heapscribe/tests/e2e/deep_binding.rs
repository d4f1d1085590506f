//! Libraries opened with RTLD_DEEPBIND: their calls bind to libc's functions in front of those that are preloaded. Under
//! the pool heap libc's `free` got its blocks and ended the program; recorded, blocks that such a library freed were
//! leaks, and those that it allocated frees of nothing.

use std::path::Path;

use crate::support::{Ended, Place, Report, Run, heapscribe};

/// What the program allocates and does not free.
const LEAKED_BYTES: u64 = 4321;

/// Opens a library and a copy of it, plain, under a heap and recorded, perhaps with another heap preloaded.
fn check(when: &str, flags: &[&str], heap: Option<&str>) {
    let place = Place::new();
    let program = place.compile("deep.c");
    let [library, copy] =
        ["libdeep.so", "libcopy.so"].map(|name| place.library("deep_library.c", name, flags));
    let run = Run::new(&place, program).args([library.as_os_str(), when.as_ref(), copy.as_os_str()]);
    let run = match heap.map(|source| place.library(source, "libheap.so", &[])) {
        Some(heap) => run.env("LD_PRELOAD", heap),
        None => run,
    };
    let recorded = run.clone().options(["-q"]);
    let behaves = |name: &str, ended: Ended| {
        assert_eq!((ended.code, &ended.stdout[..], &ended.stderr[..]), (0, "ok\n", ""), "{name} {flags:?}");
    };
    behaves("plain", run.plain());
    behaves("recorded", recorded.recorded());
    check_trace(&recorded.trace());
    if heap.is_none() {
        behaves("under tlsf", run.under("tlsf"));
        behaves("recorded under tlsf", recorded.clone().options(["--heap", "tlsf"]).recorded());
        check_trace(&recorded.trace());
    }
}

/// All calls of both libraries are there.
fn check_trace(trace: &Path) {
    let report = Report::of(trace);
    // Each library's constructor runs before its calls are seen, its destructor then frees what is not known.
    assert_eq!(report.reasons(), [("unknown_block".to_owned(), 2)]);
    let check = |most: u64| {
        let words = ["check", "--max-leaked", &most.to_string()].map(str::to_owned);
        heapscribe().args(words).arg(trace).output().unwrap().status.code()
    };
    assert_eq!((check(LEAKED_BYTES), check(LEAKED_BYTES - 1)), (Some(0), Some(4)));
    let each = 100 * 2; // iterations, libraries
    let calls = report.calls();
    assert!(calls.malloc >= 6 * each && (3 * each..3 * each + 3).contains(&calls.realloc), "{calls:?}");
}

#[test]
fn bound_by_the_first_call() {
    check("lazy", &["-Wl,-z,lazy"], None);
}

#[test]
fn bound_when_they_are_opened() {
    check("now", &["-Wl,-z,lazy"], None);
}

#[test]
fn bound_for_good() {
    check("lazy", &["-Wl,-z,now"], None);
}

/// Another heap lies between us and libc's, which such a library calls past both.
#[test]
fn past_another_heap() {
    check("lazy", &["-Wl,-z,now"], Some("slow_heap.c"));
}
