//! Programs whose heap is not libc's: their own, linked in or preloaded before us, which we must leave alone, and those
//! of libraries behind us, with C++'s operators, of which no call may be missing or counted twice.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Calls, Ended, Place, Report, Run, has, heapscribe, own_calls, skip};

/// Heaps that many programs use, and the packages of Debian that bring them.
const HEAPS: [(&str, &str); 4] = [
    ("libjemalloc.so.2", "libjemalloc2"),
    ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
    ("libmimalloc.so.2", "libmimalloc2.0"),
    ("libtbbmalloc_proxy.so.2", "libtbbmalloc2"),
];

/// Those that are installed; says which are not.
pub(crate) fn installed() -> Vec<PathBuf> {
    let find = |(name, package): &(&str, &str)| {
        let places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];
        let found = places.iter().map(|place| Path::new(place).join(name)).find(|path| path.exists());
        if found.is_none() {
            skip(format_args!("{name} is not there (apt-get install {package})"));
        }
        found
    };
    HEAPS.iter().filter_map(find).collect()
}

/// What a program says and how it ends, without us and under `record`.
#[track_caller]
fn ends_alike(run: &Run<'_>) -> Ended {
    let (plain, recorded) = (run.plain(), run.recorded());
    assert_eq!((recorded.code, &recorded.stdout), (plain.code, &plain.stdout), "{recorded:?}");
    recorded
}

/// ruby, redis-server and everything in Rust with jemalloc: `reallocarray` of a block of theirs was libc's `realloc`.
#[test]
fn an_executable_has_its_own_heap() {
    let place = Place::new();
    let program = place.compile_with("cc", "foreign_heap.c", "own_heap", &["-rdynamic"]);
    for options in [&[][..], &["--sample", "1KiB"], &["--mode", "off"]] {
        let recorded = ends_alike(&Run::new(&place, &program).options(options));
        assert_eq!((recorded.code, recorded.stdout.as_str()), (5, "ok\n"), "{recorded:?}");
        assert!(
            !options.is_empty() || recorded.stderr.contains("contains its own heap (malloc)"),
            "{recorded:?}"
        );
    }
    // Also as a child of a program that is recorded.
    let parent = Run::new(&place, "sh").args(["-c", &format!("{}; exit 3", program.display())]);
    ends_alike(&parent);
    is_named_once(&parent.trace(), &program, "own_heap");
    for heap in ["tlsf", "system"] {
        let output = heapscribe().args(["run", "--heap", heap, "--"]).arg(&program).output().unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(5), &b"ok\n"[..]), "{heap}: {output:?}");
    }
}

/// A script puts its heap before us: nothing is recorded, and nothing else changes.
#[test]
fn a_heap_is_preloaded_before_us() {
    let place = Place::new();
    let program = place.compile_with("cc", "foreign_heap.c", "program", &["-DPROGRAM"]);
    let own = place.library("foreign_heap.c", "libown_heap.so", &["-DLIBRARY"]);
    let operators = place.compile("operators.cpp");
    for heap in installed().into_iter().chain([own]) {
        for program in [&program, &operators] {
            let script = format!("LD_PRELOAD={}:$LD_PRELOAD exec {}", heap.display(), program.display());
            let run = Run::new(&place, "sh").args(["-c", &script]);
            if run.plain().code >= 128 {
                skip(format_args!("{} does not bear {}", program.display(), heap.display()));
                continue;
            }
            ends_alike(&run);
        }
    }
}

/// What a program calls is in the trace, once, whichever way its heap is called: so many rounds, less none.
#[track_caller]
fn is_counted(place: &Place, program: &Path, heap: Option<&Path>, options: &[&str]) {
    let list = heap.map(|heap| heap.as_os_str().to_owned()).unwrap_or_default();
    let reports = ["100", "0"].map(|rounds| {
        let run = Run::new(place, program).args([rounds]).env("LD_PRELOAD", &list).options(options);
        let counted = Calls::counted(&ends_alike(&run).stdout);
        (counted, Report::of(&run.trace()))
    });
    let [(counted, whole), (none, idle)] = &reports;
    assert_eq!((none.all(), whole.calls() - idle.calls()), (0, *counted), "{heap:?} {options:?}");
    assert_eq!(whole.dropped("total"), 0, "{heap:?}");
    // In each round blocks of 1,000, 2,000 and 3,000 bytes; libstdc++ asks for whole 4,096 for the last, which is aligned.
    let leaked = |report: &Report| report.json["leaked"]["bytes"].as_u64().unwrap();
    assert!([100 * 6000, 100 * 7096].contains(&(leaked(whole) - leaked(idle))), "{heap:?} {options:?}");
}

#[test]
fn operators_of_heaps_are_recorded_once() {
    let place = Place::new();
    let program = place.compile_with("c++", "operators.cpp", "operators", &["-std=c++17"]);
    let library = ["-std=c++17", "-shared", "-fPIC"];
    let by_name = place.compile_with("c++", "operators_heap.cpp", "liboperators_heap.so", &library);
    is_counted(&place, &program, None, &[]);
    for heap in installed().iter().chain([&by_name]) {
        is_counted(&place, &program, Some(heap), &[]);
        is_counted(&place, &program, Some(heap), &["--latency"]);
    }
}

/// The exception goes through our stub.
#[test]
fn an_operator_throws() {
    let place = Place::new();
    let program = place.compile_with("c++", "operators.cpp", "operators", &["-std=c++17"]);
    for heap in installed() {
        let run = Run::new(&place, &program).args(["10", "throw"]).env("LD_PRELOAD", &heap);
        if run.plain().code >= 128 {
            skip(format_args!("the operators of {} do not throw", heap.display()));
            continue;
        }
        assert!(ends_alike(&run).stdout.starts_with("caught 3\n"), "{heap:?}");
    }
}

/// Linked to the program, as most that use one have it.
#[test]
fn operators_of_a_heap_that_is_linked() {
    let place = Place::new();
    let library = ["-std=c++17", "-shared", "-fPIC"];
    let heap = place.compile_with("c++", "operators_heap.cpp", "liboperators_heap.so", &library);
    let link =
        ["-std=c++17", "-Wl,-z,now", "-Wl,-rpath,$ORIGIN", "-L", heap.parent().unwrap().to_str().unwrap()];
    let linked = [&link[..], &["-Wl,--no-as-needed", "-loperators_heap"]].concat();
    let program = place.compile_with("c++", "operators.cpp", "linked", &linked);
    let run = Run::new(&place, &program).args(["100"]);
    let recorded = ends_alike(&run);
    assert_eq!(own_calls(&run.trace(), &program), Calls::counted(&recorded.stdout));
}

/// Ours are hidden where the heap has none: a runtime that is loaded later is found, and nobody's before.
#[test]
fn a_runtime_is_loaded_later() {
    let place = Place::new();
    let program = place.compile_with("cc", "loads_runtime.c", "loads_runtime", &["-ldl"]);
    let recorded = ends_alike(&Run::new(&place, program));
    assert!(recorded.stdout.starts_with("at first: nobody's\n"), "{recorded:?}");
}

/// Its runtime has to come first, and looks at each access to memory.
#[test]
fn sanitizers() {
    let place = Place::new();
    for (kind, name) in [("address", "AddressSanitizer"), ("thread", "ThreadSanitizer")] {
        for linked in [&[][..], &["-static-libasan", "-static-libtsan"]] {
            let sanitize = format!("-fsanitize={kind}");
            let flags = [&["-DPROGRAM", &sanitize[..]], linked].concat();
            let program = place.compile_with("gcc", "foreign_heap.c", &format!("with_{kind}"), &flags);
            let option = "allocator_may_return_null=1";
            let run = Run::new(&place, &program).env("ASAN_OPTIONS", option).env("TSAN_OPTIONS", option);
            let recorded = ends_alike(&run);
            assert!(recorded.stdout == "ok\n" && recorded.stderr.contains(name), "{recorded:?}");
            is_named_once(&run.trace(), &program, "sanitizer");
            // As a child of a program that is recorded, and ended by its runtime.
            let parent = Run::new(&place, "sh").args(["-c", &format!("{}; exit 3", program.display())]);
            ends_alike(&parent);
            is_named_once(&parent.trace(), &program, "sanitizer");
            let under = run.under("tlsf");
            assert!(under.code == 125 && under.stderr.contains(name), "{under:?}");
        }
    }
}

/// MemorySanitizer is clang's alone, and part of each program: none of them may have another library's heap.
#[test]
fn memory_sanitizer() {
    let place = Place::new();
    let probe = "echo 'int main(void) { return 0; }' | clang -fsanitize=memory -x c - -o probe";
    let compiled = Command::new("sh").args(["-c", probe]).current_dir(place.path("")).output().unwrap();
    if !compiled.status.success() {
        return skip(format_args!("MemorySanitizer is not there (apt-get install clang libclang-rt-14-dev)"));
    }
    let flags = ["-DPROGRAM", "-fsanitize=memory"];
    let program = place.compile_with("clang", "foreign_heap.c", "with_memory", &flags);
    let run = Run::new(&place, &program).env("MSAN_OPTIONS", "allocator_may_return_null=1");
    let recorded = ends_alike(&run);
    assert!(recorded.stdout == "ok\n" && recorded.stderr.contains("MemorySanitizer"), "{recorded:?}");
    is_named_once(&run.trace(), &program, "sanitizer");
    let parent = Run::new(&place, "sh").args(["-c", &format!("{}; exit 3", program.display())]);
    ends_alike(&parent);
    is_named_once(&parent.trace(), &program, "sanitizer");
    let under = run.under("tlsf");
    assert!(under.code == 125 && under.stderr.contains("MemorySanitizer"), "{under:?}");
}

/// It is not recorded for one reason, and that is its sanitizer or heap: its session was not to be made.
#[track_caller]
fn is_named_once(trace: &Path, program: &Path, reason: &str) {
    let report = Report::of(trace);
    let named = report.json["unrecorded"]["programs"].as_array().unwrap();
    let [named] = &named[..] else { panic!("{named:?}") };
    assert_eq!((named["program"].as_str(), named["reason"].as_str()), (program.to_str(), Some(reason)));
}

/// proot starts programs itself, and the kernel's auxiliary vector is that of its own loader.
#[test]
fn under_proot() {
    if !has("proot") {
        return skip(format_args!("a program under proot needs proot (apt-get install proot)"));
    }
    let place = Place::new();
    let run = Run::new(&place, "proot").args(["ls", "/"]);
    let recorded = ends_alike(&run);
    assert_eq!(recorded.code, 0, "{recorded:?}");
    let report = Report::of(&run.trace());
    let is_ls = |process: &serde_json::Value| process["exe"].as_str().is_some_and(|exe| exe.ends_with("/ls"));
    assert!(report.processes().iter().any(is_ls), "{:?}", report.processes());
}
