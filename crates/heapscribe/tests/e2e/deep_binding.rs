//! Libraries opened with RTLD_DEEPBIND: their calls bind to libc's functions in front of those that are preloaded. Under
//! the pool heap libc's `free` got its blocks and ended the program; recorded, blocks that such a library freed were
//! leaks, and those that it allocated frees of nothing.

use crate::support::{Place, Report, Run, heapscribe};

/// What the program allocates and does not free.
const LEAKED_BYTES: u64 = 4321;

fn check(when: &str, flags: &[&str]) {
    let place = Place::new();
    let program = place.compile("deep.c");
    let [library, copy] =
        ["libdeep.so", "libcopy.so"].map(|name| place.library("deep_library.c", name, flags));
    let paths = [library.as_os_str(), when.as_ref(), copy.as_os_str()];
    let run = Run::new(&place, program).args(paths);
    let recorded = run.clone().options(["-q"]);
    for (name, ended) in [
        ("plain", run.plain()),
        ("under tlsf", run.under("tlsf")),
        ("recorded under tlsf", recorded.clone().options(["--heap", "tlsf"]).recorded()),
        ("recorded", recorded.recorded()),
    ] {
        assert_eq!((ended.code, &ended.stdout[..], &ended.stderr[..]), (0, "ok\n", ""), "{name} {flags:?}");
    }
    let report = Report::of(&recorded.trace());
    // Each library's constructor runs before its calls are seen, its destructor then frees what is not known.
    assert_eq!(report.reasons(), [("unknown_block".to_owned(), 2)], "{flags:?}");
    let check = |most: u64| {
        let words = ["check", "--max-leaked", &most.to_string()].map(str::to_owned);
        heapscribe().args(words).arg(recorded.trace()).output().unwrap().status.code()
    };
    assert_eq!((check(LEAKED_BYTES), check(LEAKED_BYTES - 1)), (Some(0), Some(4)), "{flags:?}");
    let each = 100 * 2; // iterations, libraries
    let calls = report.calls();
    assert!(calls.malloc >= 6 * each && calls.realloc == 3 * each, "{calls:?}");
}

#[test]
fn bound_by_the_first_call() {
    check("lazy", &["-Wl,-z,lazy"]);
}

#[test]
fn bound_when_they_are_opened() {
    check("now", &["-Wl,-z,lazy"]);
}

#[test]
fn bound_for_good() {
    check("lazy", &["-Wl,-z,now"]);
}
