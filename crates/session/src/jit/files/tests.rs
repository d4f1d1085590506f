//! Files are read in the root of their process, and only its own.

use std::path::Path;

use heapscribe_wire::head::HEAD_FILE_BYTES;

use super::*;

const PID: u32 = 0x7fff_fff1;

fn wanted(uid: u32) -> Wanted {
    let now_ns =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let lived = (10_000_000_000, 20_000_000_000);
    let mut head = vec![0; HEAD_FILE_BYTES];
    head[..8].copy_from_slice(&heapscribe_wire::head::MAGIC.to_le_bytes());
    head[8..12].copy_from_slice(&heapscribe_wire::ABI_VERSION.to_le_bytes());
    let line = TickLine::new(&Head::parse(&head).unwrap(), None, None);
    Wanted { pid: PID, uid, lived_real: (now_ns, now_ns), lived, line, early_ns: 0 }
}

/// The root of a process that has these files in its /tmp.
fn root(place: &Path) -> JitFiles {
    std::fs::create_dir(place.join("tmp")).unwrap();
    let root = Directory::open(place.to_str().unwrap()).unwrap();
    JitFiles { working: None, temporary: root.of_root("tmp") }
}

fn names(code: &[Timed]) -> Vec<&str> {
    code.iter().map(|timed| std::str::from_utf8(&timed.code.name).unwrap()).collect()
}

#[test]
fn a_map_is_read_in_the_root_of_its_process_when_it_is_its_own() {
    let place = tempfile::tempdir().unwrap();
    let files = root(place.path());
    let map = place.path().join(format!("tmp/perf-{PID}.map"));
    std::fs::write(&map, "1000 20 JS:*load /a.js:3:1\n").unwrap();
    let uid = std::fs::metadata(&map).unwrap().uid();
    let read = |wanted: &Wanted| files.read(wanted, &Growth::default());
    assert_eq!(names(&read(&wanted(uid)).map), ["JS:*load /a.js:3:1"]);
    assert!(read(&wanted(uid + 1)).is_empty());
    let before = Wanted { lived_real: (1, 2), ..wanted(uid) };
    let after = Wanted { lived_real: (u64::MAX - 2, u64::MAX - 1), ..wanted(uid) };
    assert!(read(&before).is_empty() && read(&after).is_empty());
    std::fs::remove_file(&map).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &map).unwrap();
    assert!(read(&wanted(uid)).is_empty());
}

#[test]
fn a_pipe_does_not_hold_up_who_reads() {
    let place = tempfile::tempdir().unwrap();
    let files = root(place.path());
    let map = place.path().join(format!("tmp/perf-{PID}.map"));
    assert!(std::process::Command::new("mkfifo").arg(&map).status().unwrap().success());
    let uid = std::fs::metadata(&map).unwrap().uid();
    assert!(files.read(&wanted(uid), &Growth::default()).is_empty());
    assert_eq!(files.map_bytes(PID), None);
}

#[test]
fn a_line_of_a_map_was_written_between_two_looks() {
    let place = tempfile::tempdir().unwrap();
    let files = root(place.path());
    let map = place.path().join(format!("tmp/perf-{PID}.map"));
    let mut growth = Growth::default();
    assert_eq!(files.map_bytes(PID), None);
    growth.look(0, (11_000_000_000, 11_000_000_001));
    std::fs::write(&map, "1000 20 first\n").unwrap();
    growth.look(files.map_bytes(PID).unwrap(), (12_000_000_000, 12_000_000_001));
    std::fs::write(&map, "1000 20 first\n1000 20 second\n").unwrap();
    let uid = std::fs::metadata(&map).unwrap().uid();
    let code = files.read(&wanted(uid), &growth).map;
    let spans: Vec<_> = code.iter().map(|timed| timed.made).collect();
    assert_eq!(names(&code), ["first", "second"]);
    assert_eq!(spans, [(11_000_000_000, 12_000_000_001), (12_000_000_000, 20_000_000_000)]);
    // An event that seems to be before the code may be after it.
    let early = files.read(&Wanted { early_ns: 4_000_000, ..wanted(uid) }, &growth).map;
    assert!(early.iter().zip(&spans).all(|(early, exact)| early.made == (exact.0 - 4_000_000, exact.1)));
}

/// Of pieces made at these times, in a dump by this clock: spans of what is of the process.
fn check(clock: DumpClock, made: &[u64], expected: &[Span]) {
    let code = made.iter().map(|made| JitCode { made: *made, moved: Some(made + 1), ..JitCode::default() });
    let dump = JitDump { clock, code: code.collect(), problem: None };
    let found: Vec<_> = of_dump(dump, &wanted(0)).iter().map(|timed| timed.made).collect();
    assert_eq!(found, expected, "{clock:?} {made:?}");
}

#[test]
fn a_dump_has_the_code_of_the_life_of_its_process() {
    let second = 1_000_000_000;
    let lived = (10 * second, 20 * second);
    let exact = |at: u64| (at * second, at * second);
    check(
        DumpClock::Monotonic,
        &[2 * second, 11 * second, 19 * second, 40 * second],
        &[exact(11), exact(19)],
    );
    // Times of another clock, such as seconds since 1970, or of a counter that our events do not go by.
    check(DumpClock::Monotonic, &[0, u64::MAX - 1], &[lived, lived]);
    check(DumpClock::Counter, &[12 * second], &[lived]);
}
