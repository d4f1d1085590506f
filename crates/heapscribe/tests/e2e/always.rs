//! Services that are left on: one agent for all of a host, whoever is started first.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use heapscribe_wire::plan::Plan;
use rustix::process::{Pid, Signal, kill_process};

use crate::agent::{ended, files, in_tables};
use crate::support::{Place, Report, heapscribe, until};

fn agent_of_all(place: &Place, windows: &str) -> Command {
    let mut agent = heapscribe();
    agent.args(["agent", "--all", "--window", "300ms", "--sample", "1", "--session-dir"]);
    agent.arg(place.path("sessions")).arg("-o").arg(place.path(windows)).stderr(Stdio::piped());
    agent
}

/// Starts a service under another name, which says at its end how many blocks it allocated.
fn start_service(place: &Place, name: &str, more: &[&str]) -> (String, Child) {
    let program = place.path(name);
    fs::copy(place.path("steady"), &program).unwrap();
    let mut service = heapscribe();
    service.args(["record", "--quiet", "--session-dir"]).arg(place.path("sessions")).args(more);
    let said = fs::File::create(place.path(&format!("{name}.said"))).unwrap();
    (name.to_owned(), service.arg("--").arg(program).arg("2000").stdout(said).spawn().unwrap())
}

/// What a service allocated, by its own count, when it has ended.
fn counted_by_itself(place: &Place, (name, mut service): (String, Child)) -> (String, u64) {
    assert!(service.wait().unwrap().success(), "{name}");
    let said = fs::read_to_string(place.path(&format!("{name}.said"))).unwrap();
    (name, said.trim().parse().unwrap())
}

/// One agent takes up all services of a host, those before it and those after it; killed, another goes on. It leaves alone
/// what a `record` drains, and lets no other agent drain what it does.
#[test]
fn one_agent_takes_up_all_services_that_are_left_on() {
    let place = Place::new();
    place.compile("steady.c");
    fs::create_dir(place.path("sessions")).unwrap();
    let sessions = || files(&place.path("sessions"), "/head").len();
    // Its plan stays, by which each block is a sample.
    let mut first = agent_of_all(&place, "windows").spawn().unwrap();
    // And not what it was made of, which stays beside it when its agent is killed in between.
    let there = || ["/plan", ""].map(|ending| files(&place.path("sessions"), ending).len());
    until("there is a plan", || there() == [1, 1]);
    first.kill().unwrap();
    first.wait().unwrap();
    let mut services = vec![start_service(&place, "shop", &["--always"])];
    let trace = place.path("other.hst");
    let other = start_service(&place, "other", &["-o", trace.to_str().unwrap()]);
    until("a service runs before the agent", || sessions() == 2);
    let mut second = agent_of_all(&place, "windows").spawn().unwrap();
    until("windows are there", || files(&place.path("windows"), ".samples.parquet").len() >= 2);
    services.extend(["till", "stock"].map(|name| start_service(&place, name, &["--always"])));
    until("others run", || sessions() == 4);
    let refused = agent_of_all(&place, "others").output().unwrap();
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains("another process takes the sessions out of "), "{refused}");
    second.kill().unwrap();
    second.wait().unwrap();
    let third = agent_of_all(&place, "windows").spawn().unwrap();
    let counted: BTreeMap<_, _> = services.into_iter().map(|of| counted_by_itself(&place, of)).collect();
    let (_, of_other) = counted_by_itself(&place, other);
    until("all is read", || sessions() == 0);
    let pid = Pid::from_raw(third.id().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    ended(third);
    assert_eq!(files(&place.path("sessions"), "").len(), 1, "what lies there for those to come is the plan");
    // The rest are blocks of libc, before `main` and for the thread.
    let is_it = |objects: u64, counted: u64| (counted..counted + 20).contains(&objects);
    let recorded = Report::of(&trace).json["allocations"].as_u64().unwrap();
    assert!(is_it(recorded, of_other), "{recorded} for {of_other} blocks");
    let Some(tables) = in_tables(&place) else { return };
    let of_service: BTreeMap<String, u64> = serde_json::from_value(tables["of_service"].clone()).unwrap();
    assert_eq!(of_service.len(), counted.len(), "{of_service:?}");
    for (name, counted) in counted {
        assert!(is_it(of_service[&name], counted), "{name}: {} for {counted} blocks", of_service[&name]);
    }
    assert_eq!(tables["unplaced"], 0);
}

/// What a process wrote to a file as its buffer was full and no agent there is counted as soon as one is, and by that one
/// alone: what was live was too little until the process ended.
#[test]
fn what_a_service_wrote_without_an_agent_is_read_while_it_lives() {
    const BLOCKS: u64 = 60_000;
    let place = Place::new();
    let program = place.compile("burst.c");
    fs::create_dir(place.path("sessions")).unwrap();
    let mut first = agent_of_all(&place, "windows").spawn().unwrap();
    until("there is a plan", || files(&place.path("sessions"), "/plan").len() == 1);
    first.kill().unwrap();
    first.wait().unwrap();
    let path = files(&place.path("sessions"), "/plan").remove(0);
    let plan = Plan::parse(fs::read(&path).unwrap().first_chunk().unwrap()).unwrap();
    let plan = Plan { log_chunks: 2, drainer_pid: 0, ..plan };
    fs::write(&path, plan.to_bytes()).unwrap();
    let mut service = heapscribe();
    service.args(["record", "--always", "--quiet", "--session-dir"]).arg(place.path("sessions")).arg("--");
    service.arg(program).arg(BLOCKS.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut service = service.spawn().unwrap();
    let mut said = [0; 6];
    service.stdout.take().unwrap().read_exact(&mut said).unwrap();
    let spilled = files(&place.path("sessions"), "/spill").remove(0).metadata().unwrap().len();
    assert!(spilled > 200_000, "{spilled} bytes");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    for _ in 0..2 {
        let mut agent = agent_of_all(&place, "windows").args(["--metrics", &address]).spawn().unwrap();
        let live = || metric(&address, "heapscribe_live_objects");
        until("it is read", || live().is_some_and(|live| (BLOCKS / 10..BLOCKS / 10 + 20).contains(&live)));
        agent.kill().unwrap();
        agent.wait().unwrap();
    }
    drop(service.stdin.take());
    assert!(service.wait().unwrap().success());
    let last = agent_of_all(&place, "windows").spawn().unwrap();
    until("all is read", || files(&place.path("sessions"), "/head").is_empty());
    kill_process(Pid::from_raw(last.id().cast_signed()).unwrap(), Signal::TERM).unwrap();
    ended(last);
    let Some(tables) = in_tables(&place) else { return };
    let objects = tables["objects"].as_u64().unwrap();
    assert!((BLOCKS..BLOCKS + 20).contains(&objects), "{objects} for {BLOCKS} blocks");
}

/// A figure for Prometheus, when the agent answers.
fn metric(address: &str, name: &str) -> Option<u64> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let line = answer.lines().find_map(|line| line.strip_prefix(name));
    line?.trim().parse().ok()
}

/// A service starts, whatever becomes of its recording.
#[test]
fn a_service_that_is_left_on_takes_our_place() {
    let place = Place::new();
    let started = |script: &str, dir: &str| {
        let mut service = heapscribe();
        service.args(["record", "--always", "--session-dir", dir, "--", "sh", "-c", script]);
        service.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let service = started("echo $$; exit 7", place.path("").to_str().unwrap());
    let (pid, output) = (service.id(), service.wait_with_output().unwrap());
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), pid.to_string());
    assert_eq!(output.status.code(), Some(7));
    let output = started("echo runs", "/nowhere").wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "runs\n");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("the program runs, and is not recorded"), "{said}");
    let mut missing = heapscribe();
    missing.args(["record", "--always", "--session-dir"]).arg(place.path("")).args(["--", "no-such-program"]);
    assert_eq!(missing.output().unwrap().status.code(), Some(127));
}
