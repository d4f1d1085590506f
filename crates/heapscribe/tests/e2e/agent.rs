//! The agent: what its windows have is what was sampled, whatever becomes of the collector or of the agent itself.
//!
//! Sums of profiles are read here, without another reader; those of Parquet by DuckDB (`pip install duckdb`), where
//! `HEAPSCRIBE_DUCKDB_PYTHON`, or else `python3`, has it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use flate2::read::GzDecoder;
use heapscribe_wire::varint;
use serde_json::Value;

use crate::support::{Place, Report, heapscribe, skip, until};

/// Allocated objects and bytes.
type Sums = (u64, u64);

/// The fields of a protobuf message: number, value of a number, bytes of the rest.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let mut all = Vec::new();
    while let Some((tag, n)) = varint::get(bytes) {
        bytes = &bytes[n..];
        let (value, length, n) = match tag & 7 {
            0 => varint::get(bytes).map(|(value, n)| (value, 0, n)).unwrap(),
            1 => (0, 8, 0),
            _ => varint::get(bytes).map(|(length, n)| (0, length as usize, n)).unwrap(),
        };
        all.push((tag >> 3, value, &bytes[n..n + length]));
        bytes = &bytes[n + length..];
    }
    all
}

fn inner<'a>(bytes: &'a [u8], path: &[u64]) -> Vec<&'a [u8]> {
    path.iter().fold(vec![bytes], |level, number| {
        let of = |bytes: &'a [u8]| fields(bytes).into_iter().filter(|field| field.0 == *number);
        level.into_iter().flat_map(of).map(|field| field.2).collect()
    })
}

/// What each profile of a message sums up to, by its id; the first kind is objects, the second bytes.
fn profiles(message: &[u8]) -> BTreeMap<Vec<u8>, u64> {
    let mut sums = BTreeMap::new();
    for profile in inner(message, &[1, 2, 2]) {
        let id = inner(profile, &[7])[0].to_vec();
        let values = inner(profile, &[2, 4]);
        let sum = values.iter().map(|packed| varint::get(packed).unwrap().0).sum();
        sums.insert(id, sum);
    }
    sums
}

/// A collector that can be killed and restored at the same port. What it took, each profile once.
struct Collector {
    port: u16,
    is_up: Arc<AtomicBool>,
    taken: Arc<Mutex<BTreeMap<Vec<u8>, u64>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Collector {
    fn new() -> Collector {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Collector { port, is_up: Arc::default(), taken: Arc::default(), thread: None }
    }

    fn restore(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        self.is_up.store(true, Ordering::SeqCst);
        let (is_up, taken) = (self.is_up.clone(), self.taken.clone());
        self.thread = Some(thread::spawn(move || {
            while is_up.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((stream, _)) => take(stream, &taken),
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            }
        }));
    }

    fn kill(&mut self) {
        self.is_up.store(false, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
    }

    fn sums(&self) -> Sums {
        let of_kind = |kind: u8| {
            let taken = self.taken.lock().unwrap();
            taken.iter().filter(|(id, _)| id[15] == kind).map(|(_, sum)| sum).sum()
        };
        (of_kind(1), of_kind(2))
    }
}

/// Takes a message, and answers that it did.
fn take(mut stream: TcpStream, taken: &Mutex<BTreeMap<Vec<u8>, u64>>) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    let body = loop {
        let Ok(n @ 1..) = stream.read(&mut piece) else { return };
        bytes.extend_from_slice(&piece[..n]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
        if bytes.len() >= end + 4 + length.parse::<usize>().unwrap() {
            break end + 4;
        }
    };
    let mut message = Vec::new();
    GzDecoder::new(&bytes[body..]).read_to_end(&mut message).unwrap();
    taken.lock().unwrap().extend(profiles(&message));
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

fn agent(place: &Place, more: &[&str]) -> Command {
    sampling(place, "2KiB", more)
}

fn sampling(place: &Place, mean: &str, more: &[&str]) -> Command {
    let mut agent = heapscribe();
    agent.args(["agent", "--window", "300ms", "--sample", mean, "--service", "shop", "-o"]);
    agent.arg(place.path("windows")).args(["--label", "region=eu", "--service-version", "1.4"]).args(more);
    agent.stderr(Stdio::piped());
    agent
}

pub(crate) fn ended(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// What was not delivered, as the state says at the end.
fn dropped(place: &Place) -> (u64, Sums) {
    let state = files(&place.path("windows/.heapscribe-agent"), "state");
    let text = fs::read_to_string(&state[0]).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("dropped ")).unwrap();
    let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
    (numbers[0], (numbers[1], numbers[2]))
}

/// All files below a directory whose names end like this.
pub(crate) fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What was sampled, by the trace that was kept beside.
fn sampled(place: &Place) -> Sums {
    let report = Report::of(&place.path("kept.hst")).json;
    let figure = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64).unwrap();
    (figure("/allocations"), figure("/bytes_allocated"))
}

/// The sums of the windows, as DuckDB reads them.
pub(crate) fn in_tables(place: &Place) -> Option<Value> {
    let python = std::env::var("HEAPSCRIBE_DUCKDB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !Command::new(&python).args(["-c", "import duckdb"]).output().is_ok_and(|out| out.status.success()) {
        skip("duckdb is not there (pip install duckdb)");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/windows_sums.py");
    let output = Command::new(python).arg(script).arg(place.path("windows")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The windows have what was sampled, each has its stacks, and none overlaps another.
#[track_caller]
fn check_tables(place: &Place, expected: Sums) {
    let Some(tables) = in_tables(place) else { return };
    assert_eq!((tables["objects"].as_u64(), tables["bytes"].as_u64()), (Some(expected.0), Some(expected.1)));
    assert_eq!(tables["unplaced"], 0);
    assert_eq!(tables["services"], serde_json::json!([["shop", "1.4", "eu"]]));
    let windows = tables["windows"].as_array().unwrap();
    for pair in windows.windows(2) {
        let (end, begin) = (pair[0][1].as_i64().unwrap(), pair[1][0].as_i64().unwrap());
        assert!(end <= begin + 1, "{pair:?}");
    }
    assert!(windows.len() > 3, "{windows:?}");
}

fn add(a: Sums, b: Sums) -> Sums {
    (a.0 + b.0, a.1 + b.1)
}

/// The collector is killed and restored five times: what it took is what was sampled.
#[test]
fn a_collector_that_comes_and_goes_gets_all() {
    let (place, mut collector) = (Place::new(), Collector::new());
    let program = place.compile("steady.c");
    let url = format!("http://127.0.0.1:{}", collector.port);
    let kept = place.path("kept.hst");
    let mut agent = agent(&place, &["--endpoint", &url, "--keep-trace"]);
    let child = agent.arg(kept).arg("--").arg(program).arg("5000").spawn().unwrap();
    for _ in 0..5 {
        collector.restore();
        thread::sleep(Duration::from_millis(400));
        collector.kill();
        thread::sleep(Duration::from_millis(400));
    }
    collector.restore();
    let said = ended(child);
    collector.kill();
    let expected = sampled(&place);
    assert!(expected.0 > 1000, "{expected:?}");
    assert_eq!(dropped(&place), (0, (0, 0)), "{said}");
    assert_eq!(collector.sums(), expected, "{said}");
    check_tables(&place, expected);
}

/// A collector that never was leaves what has room in the spool; the rest is counted.
#[test]
fn what_the_spool_has_no_room_for_is_counted() {
    let (place, mut collector) = (Place::new(), Collector::new());
    let program = place.compile("steady.c");
    let url = format!("http://127.0.0.1:{}", collector.port);
    let more = ["--endpoint", &url, "--spool-max", "6KiB", "--keep-trace"];
    let mut first = agent(&place, &more);
    ended(first.arg(place.path("kept.hst")).arg("--").arg(&program).arg("4000").spawn().unwrap());
    assert!(dropped(&place).0 > 0, "no window had to make room");
    let expected = sampled(&place);
    check_tables(&place, expected);
    // The next agent delivers what waits, and what it records itself.
    collector.restore();
    let mut second = agent(&place, &more);
    ended(second.arg(place.path("kept.hst")).arg("--").arg(program).arg("700").spawn().unwrap());
    collector.kill();
    // Where the machine is busy, there may be more that it has no room for.
    assert_eq!(add(collector.sums(), dropped(&place).1), add(expected, sampled(&place)));
}

/// What processes were is forgotten when they have ended, and what they allocated is in the windows, also that of one that
/// has another number then.
#[test]
fn a_service_of_many_processes_costs_what_those_do_that_live() {
    let (place, mut collector) = (Place::new(), Collector::new());
    let program = place.compile("steady.c");
    let url = format!("http://127.0.0.1:{}", collector.port);
    collector.restore();
    let script = "for i in $(seq 70); do $0 1; done; $0 3000 & for i in $(seq 100); do $0 1; done; wait";
    let mut agent = agent(&place, &["--endpoint", &url, "--keep-trace"]);
    let child = agent.arg(place.path("kept.hst")).args(["--", "sh", "-c", script]).arg(program).spawn();
    let said = ended(child.unwrap());
    collector.kill();
    assert_eq!(collector.sums(), sampled(&place), "{said}");
    let state = files(&place.path("windows/.heapscribe-agent"), "state");
    let images = fs::read_to_string(&state[0]).unwrap().matches("\nimage ").count();
    // None is left where the last window closed after all had ended: a busy runner did that.
    assert!(images < 140, "{images} of 172 process images are in the state");
    let all = files(&place.path("windows/.heapscribe-agent"), "");
    let definitions: Vec<u32> =
        all.iter().filter_map(|path| path.to_str()?.split_once("/definitions.")?.1.parse().ok()).collect();
    // Each time that some are forgotten, the others are written to the next file.
    assert!(matches!(definitions[..], [starts] if starts > 1), "{all:?}");
}

/// An agent that is killed leaves neither a gap nor anything that counts twice.
#[test]
fn a_killed_agent_is_followed_by_another() {
    let place = Place::new();
    let program = place.compile("steady.c");
    // So small a mean that each block of 100 bytes is a sample and stands for itself.
    let mut first = sampling(&place, "1", &["--session-dir"]);
    first.stdout(fs::File::create(place.path("said")).unwrap());
    let mut child = first.arg(place.path("")).arg("--").arg(program).arg("3000").spawn().unwrap();
    until("windows are there", || files(&place.path("windows"), ".samples.parquet").len() >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let base = fs::read_dir(place.path("")).unwrap().flatten().map(|entry| entry.path());
    let mut base = base.filter(|path| path.join("plan").is_file());
    let base = base.next().unwrap();
    let mut second = sampling(&place, "1", &["--session"]);
    ended(second.arg(&base).spawn().unwrap());
    assert!(!base.exists(), "the sessions are left");
    let Some(tables) = in_tables(&place) else { return };
    let counted: u64 = fs::read_to_string(place.path("said")).unwrap().trim().parse().unwrap();
    let objects = tables["objects"].as_u64().unwrap();
    // The rest are blocks of libc, before `main` and for the thread.
    assert!((counted..counted + 20).contains(&objects), "{objects} for {counted} blocks");
    assert_eq!(tables["unplaced"], 0);
    let windows = tables["windows"].as_array().unwrap();
    for pair in windows.windows(2) {
        let (end, begin) = (pair[0][1].as_i64().unwrap(), pair[1][0].as_i64().unwrap());
        assert!((end - begin).abs() <= 1000, "a gap or an overlap: {pair:?}");
    }
}

/// Prometheus is answered, and a program that is left out is in no window.
#[test]
fn metrics_are_told_and_programs_left_out() {
    let place = Place::new();
    let program = place.compile("steady.c");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    let mut of = agent(&place, &["--metrics", &address, "--exclude", "steady"]);
    let child = of.arg("--").arg(&program).arg("2500").spawn().unwrap();
    let asked = |path: &str| {
        let mut stream = TcpStream::connect(&address).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    until("a window is closed", || {
        asked("/metrics").is_some_and(|answer| {
            !answer.contains("windows_closed_total 0\n") && answer.contains("windows_closed_total ")
        })
    });
    let answer = asked("/metrics").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\nheapscribe_allocated_objects_total 0\n"), "{answer}");
    assert!(answer.contains("\nheapscribe_lost_total{reason=\"log_full\"} 0\n"), "{answer}");
    assert!(asked("/").unwrap().starts_with("HTTP/1.1 404 "));
    ended(child);
    // What is in buffers is told before a window ends.
    let mut of = heapscribe();
    of.args(["agent", "--window", "1h", "--sample", "2KiB", "--metrics", &address, "-o"]);
    let child = of.arg(place.path("windows")).arg("--").arg(&program).arg("2500").spawn().unwrap();
    until("figures are told", || {
        asked("/metrics").is_some_and(|answer| {
            let has = |line: &str| answer.contains(line);
            has("windows_closed_total 0\n") && !has("allocated_objects_total 0\n") && has("objects_total ")
        })
    });
    ended(child);
}
