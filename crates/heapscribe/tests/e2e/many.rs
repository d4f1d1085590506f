//! Recordings of many processes: the peak is of what all of them held at one time, and it is the same
//! figure, at the same time, in every command. What a process leaks stays leaked, whoever lives longer.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{Ended, Place, Report, Run, heapscribe, until};
use heapscribe_units::{bytes, duration};
use heapscribe_wire::head::HEARTBEAT_OFFSET;
use serde_json::Value;

const MIB: u64 = 1 << 20;
/// What libc and a shell hold besides, of each process that lives at the peak.
const OTHERS: u64 = 512 << 10;

/// Output of a command that has to end with this code.
#[track_caller]
fn output(code: i32, args: &[&str]) -> String {
    let output = heapscribe().args(args).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

fn figure(json: &Value, pointer: &str) -> u64 {
    json.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} in {json}"))
}

/// Checks the peak of a recording, in MiB, and what was never freed; every command has the same figure.
#[track_caller]
fn check(run: &Run<'_>, peak_mib: u64, leaked_mib: u64, images: usize) {
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let trace = run.trace();
    let report = Report::of(&trace);
    report.assert_whole(&["unknown_block"]);
    assert_eq!(report.processes().len(), images);
    let near = |what: &str, bytes: u64, mib: u64, processes: u64| {
        let range = mib * MIB..mib * MIB + processes * OTHERS;
        assert!(range.contains(&bytes), "{what}: {bytes} bytes of {mib} MiB");
    };
    let peak = figure(&report.json, "/peak/bytes");
    near("peak", peak, peak_mib, peak_mib.div_ceil(10) + 2);
    near("leaked", figure(&report.json, "/leaked/bytes"), leaked_mib, images as u64);
    in_report(&report, peak);
    in_text(&trace, &ended, &report, peak);
    in_pictures(&trace, peak);
    in_rules(&trace, peak);
    in_events(&trace, &report);
}

/// Stacks, timeline and processes of the report.
#[track_caller]
fn in_report(report: &Report, peak: u64) {
    let sum = |list: &str, at: &str| -> u64 {
        report.json[list].as_array().unwrap().iter().map(|each| figure(each, at)).sum()
    };
    assert_eq!(sum("stacks", "/peak/bytes"), peak);
    assert_eq!(sum("processes", "/leaked/bytes"), figure(&report.json, "/leaked/bytes"));
    let steps = report.json["timeline"]["steps"].as_array().unwrap();
    assert_eq!(steps.iter().map(|step| figure(step, "/heap_max_bytes")).max(), Some(peak));
    assert_eq!(figure(steps.last().unwrap(), "/heap_end_bytes"), 0, "all processes have ended");
    assert!(report.processes().iter().all(|process| figure(process, "/peak/bytes") <= peak));
}

/// The texts of `record` and `report`, with the time.
#[track_caller]
fn in_text(trace: &Path, ended: &Ended, report: &Report, peak: u64) {
    let (shown, when) = (bytes(peak), duration(figure(&report.json, "/peak/time_ns")));
    let line = ended.stderr.lines().find(|line| line.contains("peak: ")).unwrap_or_default();
    assert!(line.contains(&format!("peak: {shown}")), "{shown}: {line}");
    assert!(line.contains(&format!(", {when} after the start")), "{when}: {line}");
    let text = output(0, &["report", "--full", trace.to_str().unwrap()]);
    let line = text.lines().find(|line| line.contains("The heap was largest")).unwrap_or_default();
    assert!(line.contains(&format!("largest {when} after the start: {shown}")), "{shown}, {when}: {line}");
    processes_by_their_peak(&text, report.processes().len());
}

/// The list begins with the process that held most, and those that it has no room for are counted by program.
#[track_caller]
fn processes_by_their_peak(text: &str, all: usize) {
    let (_, list) = text.split_once("\nProcesses: ").expect(text);
    let list = list.split("\n\n").next().unwrap();
    let peak = |line: &str| -> Option<u64> {
        line.split_once("; peak ")?.1.split(' ').next()?.replace(',', "").parse().ok()
    };
    let peaks: Vec<u64> = list.lines().filter_map(peak).collect();
    assert!(peaks.is_sorted_by(|a, b| a >= b) && peaks.len() > 1, "{list}");
    let is_cut = list.contains(&format!("... {} more processes\n", all - peaks.len()));
    assert_eq!(is_cut, all > peaks.len(), "{list}");
}

/// Flame graph, hotspots and the comparison.
#[track_caller]
fn in_pictures(trace: &Path, peak: u64) {
    let folded = trace.with_extension("folded");
    let [trace, out] = [trace, &folded].map(|path| path.to_str().unwrap());
    output(0, &["flame", trace, "-o", out]);
    let folded = std::fs::read_to_string(&folded).unwrap();
    let widths = folded.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(widths.sum::<u64>(), peak);
    in_boxes(trace, out);
    let hotspots = output(0, &["hotspots", trace, "--metric", "peak"]);
    assert!(hotspots.starts_with(&format!("{} in total", bytes(peak))), "{hotspots}");
    let diff: Value = serde_json::from_str(&output(0, &["diff", trace, trace, "--json"])).unwrap();
    assert_eq!((figure(&diff, "/before/bytes"), figure(&diff, "/after/bytes")), (peak, peak));
}

/// The first level of flame graphs: each program has what its processes have in the report.
#[track_caller]
fn in_boxes(trace: &str, out: &str) {
    let report: Value = serde_json::from_str(&output(0, &["report", "--json", trace])).unwrap();
    let processes = report["processes"].as_array().unwrap();
    for (metric, pointer) in [("leaked", "/leaked/bytes"), ("count", "/allocations")] {
        let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
        for process in processes.iter().filter(|process| figure(process, pointer) > 0) {
            let name = process["exe"].as_str().unwrap().rsplit('/').next().unwrap();
            *expected.entry(name).or_default() += figure(process, pointer);
        }
        output(0, &["flame", trace, "-o", out, "--metric", metric]);
        let folded = std::fs::read_to_string(out).unwrap();
        let mut boxes: BTreeMap<&str, u64> = BTreeMap::new();
        for line in folded.lines() {
            let (program, _) = line.split_once(" (").unwrap();
            *boxes.entry(program).or_default() += line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
        }
        assert_eq!(boxes, expected, "{metric}: {folded}");
    }
}

/// `--max-peak` and `--baseline`.
#[track_caller]
fn in_rules(trace: &Path, peak: u64) {
    let trace = trace.to_str().unwrap();
    output(0, &["check", trace, "--max-peak", &peak.to_string()]);
    output(4, &["check", trace, "--max-peak", &(peak - 1).to_string()]);
    let rules = output(0, &["check", trace, "--baseline", trace, "--json"]);
    let rules: Value = serde_json::from_str(&rules).unwrap();
    let of_peak = |rule: &&Value| rule["found"]["value"].as_f64() == Some(peak as f64);
    assert!(rules["rules"].as_array().unwrap().iter().any(|rule| of_peak(&rule)), "{rules}");
}

/// The same from the events of `dump` and the ends of processes, one after the other: moment 0 is the same, too.
#[track_caller]
fn in_events(trace: &Path, report: &Report) {
    let mut changes: Vec<(u64, usize, i64)> = Vec::new();
    let mut live = vec![0i64; report.processes().len()];
    for line in output(0, &["dump", "--json", trace.to_str().unwrap()]).lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let size = |key: &str| event[key].as_i64().unwrap_or(0);
        let bytes = match event["type"].as_str().unwrap() {
            "alloc" | "unknown_realloc" => size("size"),
            "free" => -size("size"),
            "realloc" => size("size") - event["old"]["size"].as_i64().unwrap(),
            _ => continue,
        };
        let process = figure(&event, "/process") as usize;
        changes.push((figure(&event, "/time"), process, bytes));
        live[process] += bytes;
    }
    for (number, process) in report.processes().iter().enumerate() {
        changes.push((figure(process, "/end_ns"), number, -live[number]));
    }
    changes.sort();
    let (mut level, mut highest) = (0, (0, 0));
    for instant in changes.chunk_by(|a, b| a.0 == b.0) {
        level += instant.iter().map(|change| change.2).sum::<i64>();
        highest = if level > highest.0 { (level, instant[0].0) } else { highest };
    }
    let of_report = (figure(&report.json, "/peak/bytes"), figure(&report.json, "/peak/time_ns"));
    assert_eq!((highest.0 as u64, highest.1), of_report);
}

fn many<'a>(place: &'a Place, args: &[&str]) -> Run<'a> {
    Run::new(place, place.compile("many.c")).args(args)
}

#[test]
fn fifty_programs_of_a_shell_hold_what_one_holds() {
    let place = Place::new();
    let program = place.compile("many.c");
    let script = format!("for i in $(seq 50); do {} hold; done", program.display());
    let run = Run::new(&place, "sh").args(["-c", &script]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let images = Report::of(&run.trace()).processes().len();
    assert!(images >= 51, "{images} images");
    check(&run, 10, 500, images);
}

#[test]
fn children_one_after_the_other_hold_what_one_holds() {
    let place = Place::new();
    check(&many(&place, &["in-turn", "50"]), 10, 500, 50);
}

#[test]
fn children_at_one_time_hold_all_that_they_hold() {
    let place = Place::new();
    check(&many(&place, &["overlap", "7"]), 70, 70, 7);
}

#[test]
fn blocks_of_the_parent_are_not_the_childs() {
    let place = Place::new();
    let run = many(&place, &["fork"]);
    check(&run, 13, 13, 2);
    let ended = run.recorded();
    assert!(ended.stderr.contains("dropped: 0 events\n"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("unknown: 10 blocks freed whose allocation was not seen"),
        "{}",
        ended.stderr
    );
}

#[test]
fn blocks_end_with_the_program_that_execs() {
    let place = Place::new();
    check(&many(&place, &["exec", "4"]), 10, 50, 5);
}

/// The worst ten have a line each, and the worst three of them their stacks.
#[test]
fn a_rule_that_many_processes_break_is_not_a_long_text() {
    let place = Place::new();
    let run = many(&place, &["leaks", "14"]);
    run.recorded();
    let text = output(4, &["check", run.trace().to_str().unwrap(), "--max-leaked", "0"]);
    let of_processes = text.lines().filter_map(|line| line.strip_prefix("BROKEN     max-leaked 0 B of many"));
    let leaked: Vec<_> =
        of_processes.map(|line| line.split_once("): ").unwrap().1.split_once(',').unwrap().0).collect();
    assert_eq!(leaked, ["14", "13", "12", "11", "10", "9", "8", "7", "6", "5"], "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("   1. ")).count(), 3, "{text}");
    assert!(
        text.contains("... and 4 more processes, 10,000 bytes (9.77 KiB) in all (see --json)\n"),
        "{text}"
    );
    assert!(text.ends_with("14 broken, 0 undecided, 0 hold.\n"), "{text}");
}

/// `pyenv` turned one python into 79 images.
#[test]
fn only_one_program_of_many() {
    let place = Place::new();
    let program = place.compile("many.c");
    let script = format!("for i in 1 2 3; do /bin/ls > /dev/null; {} hold; done", program.display());
    let run = Run::new(&place, "sh").args(["-c", &script]).options(["--only-program", "ma?y"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("3 process images (") && !ended.stderr.contains("warning"),
        "{}",
        ended.stderr
    );
    let report = Report::of(&run.trace());
    report.assert_whole(&[]);
    assert_eq!(report.processes().len(), 3);
    assert!(report.processes().iter().all(|process| process["exe"] == program.to_str().unwrap()));
    assert_eq!(figure(&report.json, "/leaked/blocks"), 30);
}

/// `awk` is a link to `gawk`: both are its name.
#[test]
fn a_program_has_the_name_that_was_typed() {
    let place = Place::new();
    let (program, typed) = (place.compile("many.c"), place.path("typed-name"));
    std::os::unix::fs::symlink(&program, &typed).unwrap();
    let script = format!("{} hold; /bin/ls > /dev/null; {} hold", typed.display(), program.display());
    for (name, images) in [("typed-*", 1), ("many", 2)] {
        let run = Run::new(&place, "sh").args(["-c", &script]).options(["--only-program", name]);
        assert_eq!(run.recorded().code, 0);
        assert_eq!(Report::of(&run.trace()).processes().len(), images, "{name}");
        std::fs::remove_file(run.trace()).unwrap();
    }
    let run = Run::new(&place, "sh").args(["-c", &script]);
    assert_eq!(run.recorded().code, 0);
    for (name, blocks) in [("typed-name", 10), ("ma?y", 20)] {
        let output = |words: &[&str]| heapscribe().args(words).arg(run.trace()).output().unwrap();
        let report = output(&["report", "--json", "--process", name]).stdout;
        let json = serde_json::from_slice::<serde_json::Value>(&report).unwrap();
        assert_eq!(figure(&json, "/leaked/blocks"), blocks, "{name}");
        let held = (blocks - 1).to_string();
        let check = output(&["check", "--process", name, "--max-leaked-blocks", &held]);
        assert_eq!(check.status.code(), Some(if blocks == 10 { 4 } else { 0 }), "a process has 10: {name}");
    }
}

/// The first line of what a program says of its status.
fn resident(stdout: &str) -> u64 {
    stdout.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// How often the drainer has looked at the one session below a directory.
fn looks(dir: &Path) -> u32 {
    let inside =
        |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let heads =
        inside(dir).flat_map(|base| inside(&base).collect::<Vec<_>>()).map(|session| session.join("head"));
    let heads: Vec<_> = heads.filter_map(|head| std::fs::read(head).ok()).collect();
    heads
        .iter()
        .find_map(|head| Some(u32::from_le_bytes(*head[HEARTBEAT_OFFSET..].first_chunk()?)))
        .unwrap_or(0)
}

/// Has many stacks, says what is resident, and waits for a file.
const PYTHON: &str = "
import asyncio, decimal, email.mime.text, http.client, json, os, sys, time, unittest, xml.dom.minidom
blocks = [{n: n} for n in range(20000)]
print('resident', [line.split()[1] for line in open('/proc/self/status') if 'VmRSS' in line][0], flush=True)
while len(sys.argv) > 1 and not os.path.exists(sys.argv[1]): time.sleep(0.01)
";

/// What is resident of a program by itself, and what the report says of it; and what it has with the recorder.
fn resident_of<'p>(place: &'p Place, program: impl Fn(&[&str]) -> Run<'p>) -> [u64; 3] {
    let plain = resident(&program(&[]).plain().stdout);
    let (dir, enough) = (place.path("sessions"), place.path("enough"));
    std::fs::create_dir(&dir).unwrap();
    let run = program(&[enough.to_str().unwrap()]);
    let run = run.options(["--session-dir"]).options([&dir]);
    let started = run.start();
    until("the program holds its blocks", || started.said().0.ends_with('\n'));
    let before = looks(&dir);
    until("its memory is sampled", || looks(&dir) > before + 50);
    std::fs::write(enough, "").unwrap();
    let recorded = resident(&started.wait().stdout);
    let report = Report::of(&run.trace());
    [plain, figure(&report.json, "/processes/0/rss_peak_bytes"), recorded]
}

/// A live slot for each block, a log and tables are resident in the program, and are not the program's; nor is what it has
/// of private memory: 15 MiB of a Python were taken for the program's, which "explained 73 %" of its memory.
#[test]
fn the_recorders_memory_is_not_the_programs() {
    let place = Place::new();
    let blocks = |arguments: &[&str]| many(&place, &[&["small", "500000"], arguments].concat());
    let [plain, reported, recorded] = resident_of(&place, blocks);
    assert!(plain > 30 * MIB && recorded > plain + 10 * MIB, "{recorded} with the recorder, {plain} without");
    assert!(reported.abs_diff(plain) < 3 * MIB, "{reported} bytes resident, {plain} without the recorder");

    let place = Place::new();
    let python = |arguments: &[&str]| {
        let run = Run::new(&place, "/usr/bin/python3").args(["-c", PYTHON]).args(arguments);
        run.env("PYTHONMALLOC", "malloc")
    };
    let [plain, reported, recorded] = resident_of(&place, python);
    assert!(recorded > plain + 6 * MIB, "{recorded} with the recorder, {plain} without");
    // Its library and its cache of unwinding rules are in it still.
    assert!(reported.abs_diff(plain) < 5 * MIB, "{reported} bytes resident, {plain} without the recorder");
}

/// With few descriptors sessions could not be opened, were taken for half made, and removed: with `ulimit -n 32` 84 of 201
/// processes were recorded, and nothing said so.
#[test]
fn processes_wait_for_the_descriptors_of_others() {
    let place = Place::new();
    let (program, trace) = (place.compile("worker.c"), place.path("run.hst"));
    let all = "i=0; while [ $i -lt 120 ]; do \"$0\" -n 200 > /dev/null & i=$((i+1)); done; wait";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -n 32; exec \"$@\"", "sh"]).arg(heapscribe().get_program());
    command.args(["record", "-q", "-o"]).arg(&trace).args(["--", "sh", "-c", all]).arg(&program);
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), &String::from_utf8_lossy(&output.stderr)[..]), (Some(0), ""));
    let report = Report::of(&trace);
    let processes = report.json["processes"].as_array().unwrap();
    let is_worker = |process: &&Value| process["exe"].as_str() == program.to_str();
    assert_eq!(processes.iter().filter(is_worker).count(), 120);
    report.assert_whole(&["unknown_block"]);
}
