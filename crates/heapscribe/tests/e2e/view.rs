//! `view`: looks at a process that runs, what the page can do to it, and the source of a program.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::memory::Pages;
use crate::support::{Place, Report, Run, heapscribe, skip, until};

/// A server that looks at a process, or at a trace.
pub(crate) struct View {
    child: Child,
    host: String,
    token: String,
}

impl View {
    pub(crate) fn of(pid: u32, dir: &Path) -> View {
        View::with(&[OsStr::new(&pid.to_string()), OsStr::new("--session-dir"), dir.as_os_str()])
    }

    fn with(arguments: &[&OsStr]) -> View {
        let mut command = heapscribe();
        command.args(["view", "--no-open"]).args(arguments);
        View::start(command)
    }

    fn start(mut command: Command) -> View {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let (host, token) = address.trim_start_matches("http://").split_once('/').unwrap();
        View { child, host: host.to_owned(), token: token.trim_end_matches("/\n").to_owned() }
    }

    /// The status of an answer, and its body.
    fn ask(&self, method: &str, path: &str, origin: &str) -> (u16, String) {
        let View { host, token, .. } = self;
        let mut stream = TcpStream::connect(host).unwrap();
        let request = format!("{method} /{token}/{path} HTTP/1.1\r\nHost: {host}\r\n{origin}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    /// As the page does it, which browsers name as the origin.
    fn change(&self, path: &str) -> (u16, Value) {
        let (status, body) = self.ask("POST", path, &format!("Origin: http://{}\r\n", self.host));
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill(); // else it has ended
        let _ = self.child.wait();
    }
}

/// The process below a directory for sessions, once its session is described: the head's magic is written last.
fn pid_in(dir: &Path) -> Option<u32> {
    let inside = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let in_bases = inside(dir).flat_map(|base| inside(&base).collect::<Vec<_>>());
    let is_described = |head: Vec<u8>| head.first().is_some_and(|byte| *byte != 0);
    let mut sessions = in_bases.filter(|path| std::fs::read(path.join("head")).is_ok_and(is_described));
    sessions.find_map(|path| path.file_name()?.to_str()?.split_once('.')?.0.parse().ok())
}

#[test]
fn a_running_process_is_looked_at_and_told_what_to_record() {
    let place = Place::new();
    let dir = place.path("sessions");
    std::fs::create_dir(&dir).unwrap();
    let script = "my @a = map { 'x' x 1000 } 1..2000; sleep 1000;";
    let run = Run::new(&place, "perl").args(["-e", script]).options(["--session-dir"]).options([&dir]);
    let started = run.start();
    until("the program has a session", || pid_in(&dir).is_some());
    let pid = pid_in(&dir).unwrap();
    let view = View::of(pid, &dir);
    assert_eq!(view.get("api/summary")["is_live"], true);
    until("it has allocated", || {
        view.get("api/live")["bytes"].as_array().unwrap().last().unwrap().as_u64() > Some(2_000_000)
    });
    let live = view.get("api/live");
    assert_eq!(
        (&live["pid"], &live["is_running"], &live["records"]),
        (&Value::from(pid), &true.into(), &"every block".into())
    );
    let flame = view.get("api/flame");
    assert!(flame["total"]["bytes"].as_u64().unwrap() > 2_000_000, "{flame}");
    // Nothing is changed by who cannot be our page.
    for (method, path, origin) in [
        ("GET", "api/control?do=stop", ""),
        ("POST", "api/control?do=stop", ""),
        ("POST", "api/control?do=stop", "Origin: http://evil.example\r\n"),
        ("POST", "api/live", ""),
    ] {
        let (status, _) = view.ask(method, path, origin);
        assert!([403, 404, 405].contains(&status), "{method} {path} {origin}: {status}");
    }
    assert_eq!(view.get("api/live")["is_off"], false);
    let (status, state) = view.change("api/control?do=stop");
    assert_eq!((status, &state["is_off"]), (200, &true.into()), "{state}");
    let (_, state) = view.change("api/control?do=mode&mode=sampled:64KiB");
    assert_eq!(state["records"], "one sample per 64.0 KiB", "{state}");
    let (_, state) = view.change("api/control?do=start");
    assert_eq!(state["records"], "every block", "{state}");
    assert_eq!(view.change("api/control?do=mark&name=warm").0, 200);
    assert_eq!(view.change("api/control?do=mark&name=").0, 400);
    assert_eq!(view.change("api/control?do=other").0, 400);
    in_a_browser(&view, &place, "live.mjs");
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::TERM).unwrap();
    started.wait();
    drop(view);
    let marks = Report::of(&run.trace()).json["marks"].to_string();
    assert!(marks.contains("\"warm\""), "{marks}");
}

/// A file of the same name that is no trace, as is the program itself in its directory, does not hide a process.
#[test]
fn a_process_is_found_by_the_name_of_its_program() {
    let place = Place::new();
    let dir = place.path("sessions");
    std::fs::create_dir(&dir).unwrap();
    let run = Run::new(&place, "perl").args(["-e", "my @a = 1..2000; sleep 1000;"]);
    let run = run.options(["--session-dir"]).options([&dir]);
    let started = run.start();
    until("the program has a session", || pid_in(&dir).is_some());
    std::fs::write(place.path("perl"), "no trace").unwrap();
    let command = |name: &str| {
        let mut command = heapscribe();
        command.args(["view", "--no-open", name, "--session-dir"]).arg(&dir).current_dir(place.path(""));
        command
    };
    let is_live = View::start(command("perl")).get("api/summary")["is_live"].clone();
    let output = command("recorded.err").output().unwrap();
    kill_process(Pid::from_raw(pid_in(&dir).unwrap() as i32).unwrap(), Signal::KILL).unwrap();
    started.wait();
    assert_eq!(is_live, true);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("recorded.err: not a heapscribe trace"), "{told}");
}

#[test]
fn each_line_of_the_source_has_what_was_allocated_through_it() {
    let place = Place::new();
    let run = Run::new(&place, place.compile("lines.c"));
    assert_eq!(run.recorded().code, 0);
    let view = View::with(&[run.trace().as_os_str()]);
    let table = view.get("api/functions?show=allocated");
    let named = |name: &str| table["name"].as_array().unwrap().iter().position(|of| of == name).unwrap();
    let shown = view.get(&format!("api/source?show=allocated&function={}", table["function"][named("load")]));
    let line_of = |text: &str| {
        let lines = shown["text"].as_array().unwrap();
        lines.iter().position(|line| line.as_str().unwrap().contains(text)).unwrap() as u64 + 1
    };
    // Text of the line, blocks that it allocated itself, blocks and bytes with what it calls.
    for (text, own_blocks, blocks, bytes) in [
        ("make(1000);", 0, 100, 100_000),
        ("make(300);", 0, 50, 15_000),
        ("make(7000);", 0, 1, 7_000),
        ("kept = malloc(size);", 151, 151, 122_000),
        ("parse(depth - 1);", 0, 1, 7_000),
        ("parse(3);", 0, 1, 7_000),
        ("load();", 0, 150, 115_000),
        ("free(malloc(64));", 1, 1, 64),
    ] {
        let lines = shown["line"].as_array().unwrap();
        let at = lines.iter().position(|line| *line == line_of(text)).unwrap();
        let figures = ["own_blocks", "blocks", "bytes"].map(|column| shown[column][at].as_u64().unwrap());
        assert_eq!(figures, [own_blocks, blocks, bytes], "{text}: {shown}");
    }
    assert_eq!(shown["at"], line_of("make(1000);"));
    assert_eq!(shown["note"], Value::Null, "{shown}");
    in_a_browser(&view, &place, "source.mjs");
}

/// What rounding adds is what the heap itself says of each block.
#[test]
fn rounding_is_what_malloc_usable_size_says() {
    let place = Place::new();
    let run = Run::new(&place, place.compile("rounding.c"));
    let ended = run.recorded();
    assert_eq!(ended.code, 0);
    let said: Vec<u64> = ended.stdout.split_whitespace().map(|n| n.parse().unwrap()).collect();
    let view = View::with(&[run.trace().as_os_str()]);
    for (show, said) in [("allocated", &said[..2]), ("left", &said[2..])] {
        let rows = view.get(&format!("api/rounding?show={show}&with=%3Dmain"));
        let sum =
            |column: &str| rows[column].as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>();
        assert_eq!([sum("asked_bytes"), sum("given_bytes")], [said[0], said[1]], "{show}: {rows}");
    }
    in_a_browser(&view, &place, "rounding.mjs");
}

/// The map of pages has what `report --memory` says, and names who keeps nearly empty pages.
#[test]
fn the_pages_of_a_snapshot_are_those_of_the_report() {
    let place = Place::new();
    let pages = Pages::start(&place, "hundredth", &[]);
    let memory = pages.memory();
    pages.end();
    let view = View::with(&[place.path("memory.hst").as_os_str()]);
    let map = view.get("api/pages");
    assert_eq!(map["resident_bytes"], memory.number("resident_bytes"));
    let names = map["part"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    for (name, bytes) in names.zip(map["part_bytes"].as_array().unwrap()) {
        assert_eq!(*bytes, memory.part(name), "{name}: {map}");
    }
    let sum = |column: &str| map[column].as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>();
    assert_eq!(sum("live"), memory.part("live"));
    assert_eq!(sum("used") - sum("live"), memory.part("rounding") + memory.part("mapped_tails"));
    assert!(sum("blocks") >= 2_000, "{map}");
    until("all is read", || view.ask("GET", "api/page_stacks", "").0 == 200);
    let pinned = view.get("api/page_stacks");
    let has_keep = |stacks: &Value| stacks["names"].as_array().unwrap().iter().any(|name| name == "keep");
    assert!(has_keep(&pinned) && pinned["total_bytes"] == map["pinned_bytes"], "{pinned}");
    let (status, text) = view.ask("GET", "api/page_stacks?page=x", "");
    assert!(status == 400 && text.contains("`page` is not the number `x`"), "{text}");
    in_a_browser(&view, &place, "pages.mjs");
}

/// The page itself, where there is a browser.
fn in_a_browser(view: &View, place: &Place, script: &str) {
    let is_there = |name: &str| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there("chromium") || !is_there("node") {
        skip("chromium and node are not installed");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../viewer/tests/browser").join(script);
    let address = format!("http://{}/{}/", view.host, view.token);
    let run =
        Command::new("node").arg(script).arg("chromium").arg(place.path("profile")).arg(address).output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
