//! Recorded programs through other heaps: the calls that were recorded are made, no fewer and no more, memory is
//! what the heap took, and a pool of the size that is recommended serves the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::memory::{self, Pages, about};
use crate::support::{Place, Report, Run, Started, has, heapscribe, skip, until};
use rustix::process::Signal;
use serde_json::Value;

const JEMALLOC: &str = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";

/// A perl script that holds up to 2,000 strings that grow.
fn perl(place: &Place) -> PathBuf {
    let script = "my %h; for my $i (1..6000) { $h{$i % 2000} = 'x' x ($i % 700) }";
    let run = Run::new(place, "perl").args(["-e", script]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    run.trace()
}

/// Exit code, standard output and error.
fn run(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn replay(trace: &Path, options: &[&str]) -> (Option<i32>, String, String) {
    let mut command = heapscribe();
    command.args(["replay", "--json"]).arg(trace).args(options);
    run(command)
}

/// The answer of a replay that went well.
fn replayed(trace: &Path, options: &[&str]) -> Value {
    let (code, stdout, stderr) = replay(trace, options);
    assert_eq!(code, Some(0), "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

fn pool_size(trace: &Path, options: &[&str]) -> Value {
    let mut command = heapscribe();
    command.args(["pool-size", "--json"]).arg(trace).args(options);
    let (code, stdout, stderr) = run(command);
    assert_eq!(code, Some(0), "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_calls_that_were_recorded_are_made_on_each_heap() {
    if !has("perl") {
        return skip("perl is not there");
    }
    let place = Place::new();
    let trace = perl(&place);
    let mut heaps = vec!["tlsf", "system"];
    if Path::new(JEMALLOC).exists() {
        heaps.push(JEMALLOC);
    }
    let picture = place.path("heaps.svg");
    let options = ["--heap", &heaps.join(","), "--touch", "all", "--rounds", "1", "-o"];
    let found = replayed(&trace, &[&options[..], &[picture.to_str().unwrap()]].concat());
    let report = Report::of(&trace);
    let process = &report.processes()[0];
    assert_eq!(found["calls"], process["calls"]["total"]);
    let peak = number(&process["peak"]["bytes"]);
    assert_eq!(number(&found["peak_live_bytes"]), peak);
    let all = found["heaps"].as_array().unwrap();
    assert_eq!(all.len(), heaps.len());
    for heap in all {
        assert_eq!((&heap["error"], number(&heap["failures"])), (&Value::Null, 0), "{heap}");
        // What a process has free beforehand, some hundred KiB, is used without any more memory.
        let footprint = number(&heap["peak_footprint_bytes"]);
        assert!(footprint > peak * 3 / 4 && footprint < peak * 3, "{}: {footprint} {peak}", heap["name"]);
        let latency = &heap["latency"];
        let timed = latency["kinds"].as_array().unwrap().iter().map(|kind| number(&kind[1]["calls"]));
        assert_eq!(timed.sum::<u64>() + number(&latency["left_out"]), number(&found["calls"]));
        let moments = heap["footprint"]["moments"].as_array().unwrap();
        assert!(moments.len() > 20, "{}", moments.len());
        let lives = moments.iter().map(|moment| number(&moment["live_bytes"]));
        assert!(lives.clone().max().unwrap() > peak / 2 && lives.max().unwrap() <= peak);
    }
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(svg.contains("Footprint of tlsf and system") && svg.contains("Free bytes outside the largest"));
}

#[test]
fn a_pool_of_the_recommended_size_serves_the_program() {
    if !has("perl") {
        return skip("perl is not there");
    }
    let place = Place::new();
    let trace = perl(&place);
    let found = pool_size(&trace, &[]);
    let [live, used, fails, smallest, needed, recommended] = [
        "peak_live_bytes",
        "peak_used_bytes",
        "fails_bytes",
        "smallest_bytes",
        "needed_bytes",
        "recommended_bytes",
    ]
    .map(|key| number(&found[key]));
    assert!(live < used && used < smallest && smallest <= needed && needed * 6 / 5 <= recommended, "{found}");
    assert_eq!((&found["not_verified"], smallest - fails <= live / 500 + 8192), (&Value::Null, true));
    let failures = |pool: u64| {
        let pool = pool.to_string();
        let options = ["--heap", "tlsf", "--rounds", "0", "--grow", "0", "--pool", &pool];
        number(&replayed(&trace, &options)["heaps"][0]["failures"])
    };
    assert_eq!([failures(recommended), failures(smallest)], [0, 0]);
    assert!(failures(smallest * 95 / 100) > 0 && failures(fails) > 0);
    // It is found again, and another margin counts from the same need.
    let again = pool_size(&trace, &["--margin", "100%"]);
    assert_eq!(again["needed_bytes"], found["needed_bytes"]);
    assert!(number(&again["recommended_bytes"]) >= 2 * needed);
}

/// What threads did beside each other becomes one order, in which each block comes before it goes.
#[test]
fn threads_become_one_order() {
    let place = Place::new();
    let program = place.compile("worker.c");
    let run = Run::new(&place, &program).args(["-j", "3", "-n", "3000", "-s", "900"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    let found = replayed(&run.trace(), &["--heap", "tlsf", "--rounds", "0"]);
    assert_eq!((&found["calls"], &found["threads"]), (&report.processes()[0]["calls"]["total"], &4.into()));
    assert_eq!(found["peak_live_bytes"], report.processes()[0]["peak"]["bytes"]);
    let size = pool_size(&run.trace(), &["--trials", "3", "--window", "1ms"]);
    assert!(number(&size["needed_bytes"]) >= number(&size["smallest_bytes"]), "{size}");
    assert_eq!((&size["threads"], &size["not_verified"]), (&4.into(), &Value::Null));
}

#[test]
fn of_several_processes_the_largest_heap_is_meant() {
    if !has("perl") {
        return skip("perl is not there");
    }
    let place = Place::new();
    let script = "perl -e 'my @a = (1..9)'; exec perl -e 'my @a = map { \"x\" x 500 } 1..5000'";
    let run = Run::new(&place, "sh").args(["-c", script]);
    assert_eq!(run.recorded().code, 0);
    let report = Report::of(&run.trace());
    let peak = |process: &Value| number(&process["peak"]["bytes"]);
    let largest = report.processes().iter().max_by_key(|process| peak(process)).unwrap();
    let smallest = report.processes().iter().filter(|p| peak(p) > 0).min_by_key(|p| peak(p)).unwrap();
    let found = replayed(&run.trace(), &["--heap", "system", "--rounds", "0"]);
    assert_eq!(
        (&found["process"]["pid"], number(&found["peak_live_bytes"])),
        (&largest["pid"], peak(largest))
    );
    assert!(number(&found["process"]["others"]) >= 1, "{found}");
    let pid = report.processes().iter().find(|p| p["pid"] != largest["pid"]).map(|p| p["pid"].to_string());
    if let Some(pid) = pid {
        let (_, stdout, stderr) = replay(&run.trace(), &["--pid", &pid, "--heap", "system", "--rounds", "0"]);
        let found: Value = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
        assert_eq!(found["process"]["pid"].to_string(), pid);
    }
    assert!(peak(smallest) < peak(largest));
    let (code, _, stderr) = replay(&run.trace(), &["--pid", "4194305"]);
    assert!(
        code == Some(1) && stderr.contains("process 4194305 is not in the trace") && stderr.contains("hint:"),
        "{stderr}"
    );
}

/// The loader only warns when a library cannot be loaded; the system's heap is never measured in its place.
#[test]
fn a_library_that_is_no_heap_is_an_error() {
    let place = Place::new();
    let program = place.compile("worker.c");
    let run = Run::new(&place, &program).args(["-j", "1", "-n", "50"]);
    assert_eq!(run.recorded().code, 0);
    let trace = run.trace();
    let library = place.library("plug.c", "libplug.so", &["-DNAME=\"plug\""]);
    let heaps = |list: &str| replay(&trace, &["--rounds", "0", "--heap", list]);
    let library = library.canonicalize().unwrap();
    let (code, _, stderr) = heaps(library.to_str().unwrap());
    assert!(code == Some(1) && stderr.contains("libplug.so does not export malloc"), "{stderr}");
    let (code, stdout, stderr) = heaps(&format!("{},system", library.display()));
    assert!(code == Some(3) && stderr.contains("libplug.so does not export malloc"), "{stderr}");
    let found: Value = serde_json::from_str(&stdout).unwrap();
    assert!(found["heaps"][0]["error"].is_string() && found["heaps"][1]["error"].is_null(), "{found}");
    let text = place.path("libtext.so");
    std::fs::write(&text, "no library").unwrap();
    let (code, _, stderr) = heaps(text.to_str().unwrap());
    assert!(code == Some(1) && stderr.contains("did not load"), "{stderr}");
}

#[test]
fn samples_cannot_be_made_again() {
    let place = Place::new();
    let program = place.compile("worker.c");
    let run = Run::new(&place, &program).args(["-j", "1", "-n", "3000"]).options(["--sample", "1KiB"]);
    assert_eq!(run.recorded().code, 0);
    let (code, stdout, stderr) = replay(&run.trace(), &[]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(
        stderr.contains("the trace contains only samples") && stderr.contains("without --sample"),
        "{stderr}"
    );
}

/// The anonymous memory of the program without a recorder, when it is ready.
fn plain_bytes(place: &Place, kind: &str, variable: Option<(&str, &str)>) -> u64 {
    let mut command = Command::new(memory::compile(place));
    command.arg(kind).envs(variable);
    let started = Started::new(command, place, "plain");
    until("the program is ready", || started.said().0.contains("ready"));
    let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", started.child.id())).unwrap();
    let kib = text.lines().find_map(|line| line.strip_prefix("Anonymous:")).unwrap();
    started.signal(Signal::USR2);
    assert_eq!(started.wait().code, 0);
    kib.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// What `replay --advice` says of a program.
struct Advice {
    place: Place,
    answer: Value,
}

impl Advice {
    fn of(kind: &str) -> Advice {
        let place = Place::new();
        Pages::start(&place, kind, &[]).end();
        let trace = place.path("run.hst");
        let ended = heapscribe().args(["replay", "--advice", "--json"]).arg(&trace).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        let answer = serde_json::from_slice(&ended.stdout).unwrap();
        Advice { place, answer }
    }

    fn setting(&self, name: &str) -> Option<&Value> {
        self.answer["settings"].as_array().unwrap().iter().find(|of| of["name"] == name)
    }

    /// What a setting keeps at the end.
    fn kept(&self, name: &str) -> u64 {
        self.setting(name).unwrap()["final_bytes"].as_u64().unwrap()
    }
}

#[test]
fn advice_is_what_happens_when_it_is_followed() {
    let advice = Advice::of("arenas");
    let (said, kept, place) = (&advice.answer, |name| advice.kept(name), &advice.place);
    assert_eq!((said["threads"].as_u64(), said["replayed_threads"].as_u64()), (Some(65), Some(65)));
    assert_eq!(advice.setting("glibc as it is").unwrap()["is_baseline"], true);
    assert_eq!(advice.setting("trimmed at marks"), None, "there are none");
    // As it is: what the program keeps, within 20 %; trimming brings back nearly all; and so it is without a recorder.
    about(kept("glibc as it is"), plain_bytes(place, "arenas", None), 20);
    about(kept("one arena"), plain_bytes(place, "arenas", Some(("MALLOC_ARENA_MAX", "1"))), 20);
    assert!(kept("trimmed at the end") * 2 < kept("glibc as it is"), "{said}");
    let settings = said["settings"].as_array().unwrap();
    let without_errors: Vec<_> = settings.iter().filter(|of| of["error"].is_null()).collect();
    assert!(without_errors.is_sorted_by_key(|of| of["final_bytes"].as_u64()), "{said}");
}

/// A request whose blocks keep pages: trimmed when its section ends, the program has as much less as is said.
#[test]
fn memory_that_is_trimmed_at_marks_falls_by_as_much_as_in_the_program() {
    let advice = Advice::of("request");
    let plain = |variable| plain_bytes(&advice.place, "request", variable);
    let fell = plain(None) - plain(Some(("TRIM_AT_MARKS", "1")));
    about(advice.kept("glibc as it is") - advice.kept("trimmed at marks"), fell, 5);
    assert!(fell > 2 << 20, "{fell}");
}
