//! `view`: the address, who is answered, and the end. What is answered is tested in the crate of the viewer.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::sample;
use crate::see::Place;

pub(crate) fn view(place: &Place, flags: &[&str]) -> Child {
    view_of(place, "run.hst", flags)
}

fn view_of(place: &Place, file: &str, flags: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heapscribe"));
    command.args(["view", file, "--no-open"]).args(flags).current_dir(place.path(""));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The status of an answer, and its body.
pub(crate) fn get(host: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn check(signal: Signal) {
    let place = Place::with_trace(&sample::tiny());
    let mut child = view(&place, &["--port", "0"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut address = String::new();
    out.read_line(&mut address).unwrap();
    let rest = address.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix("/\n"));
    let (port, token) = rest.and_then(|rest| rest.split_once('/')).unwrap_or_else(|| panic!("{address:?}"));
    assert_ne!(port.parse::<u16>().unwrap(), 0);
    assert!(token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
    let host = format!("127.0.0.1:{port}");
    assert_eq!(get(&host, "/"), (404, String::new()));
    let (status, page) = get(&host, &format!("/{token}/"));
    assert!(status == 200 && page.contains("<noscript>"), "{page}");
    let (status, summary) = get(&host, &format!("/{token}/api/summary"));
    assert!(status == 200 && summary.contains("\"command\":[\"./app\",\"--fast\"]"), "{summary}");
    assert!(place.path("run.hst.idx").exists());
    kill_process(Pid::from_child(&child), signal).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut more = String::new();
    out.read_to_string(&mut more).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut more).unwrap();
    assert_eq!(more, "");
}

#[test]
fn it_prints_its_address_and_serves_until_it_is_told_to_end() {
    check(Signal::TERM);
    check(Signal::INT);
}

#[test]
fn a_port_that_is_taken_is_an_error_with_a_hint() {
    let place = Place::with_trace(&sample::tiny());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let text = place.failure(&format!("view run.hst --no-open --no-index --port {port}"));
    assert!(text.starts_with(&format!("error: cannot listen on port {port} of 127.0.0.1")), "{text}");
    assert!(text.contains("\nhint: choose another --port, or 0 for any that is free\n"), "{text}");
    assert!(!place.path("run.hst.idx").exists());
}

#[test]
fn a_page_is_written_to_a_file_that_is_not_replaced_by_itself() {
    let place = Place::with_trace(&sample::tiny());
    let (code, _, text) = place.all("view run.hst -o run.html");
    assert!(code == Some(0) && text.contains(" written to run.html\n"), "{text}");
    let page = std::fs::read_to_string(place.path("run.html")).unwrap();
    assert!(page.contains("Content-Security-Policy") && page.contains(r#""flame?show=left""#), "{page}");
    let text = place.failure("view run.hst -o run.html");
    assert!(text.starts_with("error: run.html already exists\nhint: choose another name with -o"), "{text}");
    assert_eq!(std::fs::read_to_string(place.path("run.html")).unwrap(), page);
    assert_eq!(place.all("view run.hst -o run.html --force").0, Some(0));
    let text = place.failure("view run.hst -o other.html --port 8000");
    assert!(text.contains("cannot be used with"), "{text}");
}

/// A file of another program in a browser: its total, what is said that it lacks, and its views.
fn in_a_browser(fixture: &str, total: &str, said: &str, tabs: &str) {
    let is_there = |name: &str| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there("chromium") || !is_there("node") {
        return skipped("chromium and node are not installed");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let name = fixture.rsplit('/').next().unwrap();
    let place = Place::with_trace(b"");
    std::fs::copy(root.join("formats/tests/fixtures").join(fixture), place.path(name)).unwrap();
    let mut child = view_of(&place, name, &["--port", "0"]);
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let script = root.join("viewer/tests/browser/formats.mjs");
    let mut node = Command::new("node");
    node.arg(script).arg("chromium").arg(place.path("profile")).arg(address.trim_end());
    let ended = node.args([total, said, tabs]).output().unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    assert!(ended.status.success(), "{fixture}: {}", String::from_utf8_lossy(&ended.stderr));
}

/// Says that a test did nothing, where it is listed.
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(log) = std::env::var_os("HEAPSCRIBE_SKIPPED_LOG") {
        let mut log = File::options().append(true).create(true).open(log).unwrap();
        writeln!(log, "view: {why}").unwrap();
    }
}

const OF_EVENTS: &str = "Flame graph|Functions|Differences|Stacks|Sizes|Generations|Age and size|Lifetimes|Density|Source|Threads";
const OF_A_MOMENT: &str = "Flame graph|Functions|Differences|Stacks|Sizes|Source";

#[test]
fn traces_of_memtrace_and_logs_of_heaphook_are_shown_in_a_browser() {
    in_a_browser("memtrace/n413_long_1e-2.ctf", "12.5 KiB in 15 blocks live at", "", OF_EVENTS);
    let said = "Nothing is known of times: a nanosecond stands for a call.";
    in_a_browser("heaphook/heaplog.29657.log", "78.0 KiB in 8 blocks live at 10 ns", said, OF_EVENTS);
}

#[test]
fn a_trace_of_go_without_objects_is_shown_in_a_browser_as_the_heap_over_time() {
    let said =
        "objects and who allocates them: this needs a program built with Go 1.23 or later, run with GODEBUG=";
    in_a_browser("go/go119-tiny.trace", "", said, "");
}

#[test]
fn profiles_are_shown_in_a_browser_with_what_they_do_not_say() {
    for (profile, total, said) in [
        ("massif.out", "39.1 KiB in an unknown number of blocks live", "how many blocks there were"),
        ("dhat.out", "51.1 KiB in 43 blocks live", "the heap over time, threads and processes"),
        ("go.pb.gz", "42.8 KiB in 47 blocks live", "who held the heap when it was largest"),
        ("gperftools.heap", "51.1 KiB in 43 blocks live", "who held the heap when it was largest"),
        ("jemalloc.heap", "132 KiB in 44 blocks live", "what was allocated and freed again"),
    ] {
        in_a_browser(&format!("profiles/{profile}"), total, said, OF_A_MOMENT);
    }
}
