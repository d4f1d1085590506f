//! What runtimes write is read with its times, and what is damaged is read up to there.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn header(flags: u64) -> Vec<u8> {
    let fields: Vec<u8> = [MAGIC, 1, 40, 62, 0, 9].iter().flat_map(|n: &u32| n.to_le_bytes()).collect();
    [fields, words(&[5, flags])].concat()
}

fn record(id: u32, time: u64, payload: &[u8]) -> Vec<u8> {
    let bytes = (RECORD_BYTES + payload.len()) as u32;
    [&id.to_le_bytes()[..], &bytes.to_le_bytes(), &time.to_le_bytes(), payload].concat()
}

fn load(time: u64, start: u64, bytes: u64, name: &str) -> Vec<u8> {
    let payload = [&words(&[9, start, start, bytes, 1])[..], name.as_bytes(), b"\0", &[0xcc; 20]].concat();
    record(LOAD, time, &payload)
}

fn moved(time: u64, old: u64, start: u64, bytes: u64) -> Vec<u8> {
    record(MOVE, time, &words(&[9, start, old, start, bytes, 1]))
}

/// A dump of a function with lines that is moved.
fn dump() -> Vec<u8> {
    let line = |at: u64, line: u32, file: &[u8]| {
        [&words(&[at])[..], &line.to_le_bytes(), &[0; 4], file, b"\0"].concat()
    };
    let lines = [words(&[100, 2]), line(100, 3, b"/a.js"), line(110, 4, SAME_FILE)].concat();
    let records = [
        record(LINES, 7, &lines),
        load(7, 100, 20, "JS:*load"),
        record(4, 8, b"123"),
        moved(9, 100, 300, 20),
    ];
    [header(0), records.concat()].concat()
}

#[test]
fn code_with_lines_that_is_moved() {
    let found = read(&dump());
    let line = |offset, line| JitLine { offset, file: (*b"/a.js").into(), line };
    let lines: Arc<[JitLine]> = [line(0, 3), line(10, 4)].into();
    let name: Arc<[u8]> = (*b"JS:*load").into();
    let piece = |start, made, moved| JitCode {
        start,
        end: start + 20,
        name: name.clone(),
        lines: lines.clone(),
        made,
        moved,
    };
    let code = vec![piece(100, 7, Some(9)), piece(300, 9, None)];
    assert_eq!(found, JitDump { clock: DumpClock::Monotonic, code, problem: None });
}

/// Names and times of all pieces.
fn pieces(dump: &JitDump) -> Vec<(&str, u64, u64, Option<u64>)> {
    let piece = |piece: &'_ JitCode| (piece.start, piece.made, piece.moved);
    let named = dump.code.iter().map(|code| (std::str::from_utf8(&code.name).unwrap(), piece(code)));
    named.map(|(name, (start, made, moved))| (name, start, made, moved)).collect()
}

#[test]
fn code_comes_by_its_times() {
    let records = [load(30, 100, 20, "late"), load(10, 100, 20, "early"), moved(40, 100, 500, 20)].concat();
    let found = read(&[header(BY_COUNTER), records].concat());
    assert_eq!(found.clock, DumpClock::Counter);
    // Which of them is moved says the order of the records.
    let expected = [("early", 100, 10, Some(40)), ("late", 100, 30, None), ("early", 500, 40, None)];
    assert_eq!(pieces(&found), expected);
}

#[test]
fn what_is_cut_ends_before_it_and_damage_is_named() {
    let whole = dump();
    for end in 40..whole.len() {
        let found = read(&whole[..end]);
        assert!(found.code.len() < 2 && found.problem.is_none(), "{end}: {:?}", found.problem);
    }
    for end in 0..40 {
        assert_eq!(read(&whole[..end]).problem, Some((0, "no jitdump")), "{end}");
    }
    let mut damaged = whole;
    damaged[44..48].fill(0);
    assert_eq!(read(&damaged).problem, Some((40, "record without a length")));
}

#[derive(Clone, Debug)]
enum Step {
    Load(u64, u64),
    Move(u64, u64, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0_u64..50, 0_u64..6).prop_map(|(time, at)| Step::Load(time, at)),
        (0_u64..50, 0_u64..6, 0_u64..6).prop_map(|(time, from, to)| Step::Move(time, from, to)),
    ];
    vec(step, 0..20)
}

proptest! {
    /// Who is at each place after all records, by a table that does what the records say.
    #[test]
    fn each_place_has_who_came_there_last(steps in steps()) {
        let (mut bytes, mut places) = (header(0), HashMap::new());
        for (n, step) in steps.iter().enumerate() {
            match *step {
                Step::Load(time, at) => {
                    bytes.extend(load(time, at * 100, 20, &n.to_string()));
                    places.insert(at * 100, n.to_string());
                }
                Step::Move(time, from, to) => {
                    bytes.extend(moved(time, from * 100, to * 100, 20));
                    if let Some(who) = places.remove(&(from * 100)) {
                        places.insert(to * 100, who);
                    }
                }
            }
        }
        let found = read(&bytes);
        prop_assert_eq!(found.problem, None);
        prop_assert!(found.code.is_sorted_by_key(|piece| piece.made));
        for (start, who) in places {
            let there = found.code.iter().any(|code| {
                (code.start, code.moved, &code.name[..]) == (start, None, who.as_bytes())
            });
            prop_assert!(there, "{} is at {}", who, start);
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in vec(any::<u8>(), 0..300), damage in vec((0_usize..200, any::<u8>()), 0..4)) {
        let mut damaged = dump();
        for (at, byte) in damage {
            let at = at % damaged.len();
            damaged[at] = byte;
        }
        for bytes in [[header(1), bytes].concat(), damaged] {
            let found = read(&bytes);
            prop_assert!(found.code.iter().all(|code| code.start <= code.end));
            prop_assert!(found.problem.is_none_or(|(at, _)| at <= bytes.len() as u64));
            prop_assert!(found.code.len() <= bytes.len() / RECORD_BYTES);
        }
    }
}
