//! What is tested here: each rule of the records, damaged files, and that what is written is read back.
//! Files are written by [`Writer`] or put together from bytes; events are lines.

mod damage;
mod properties;
mod records;

use std::fmt::Write as _;
use std::ops::ControlFlow;

use super::{Attached, Trace, Version, Writer, kinds};

/// `1200 P0 HeapAlloc mem=8192`: ticks, lane, kind, values, stack, text.
pub(super) fn lines(bytes: &[u8]) -> Vec<String> {
    let trace = Trace::open(bytes).unwrap();
    let mut lines = Vec::new();
    let ended = trace.for_each(|event| {
        let mut line = format!("{} {} {}", event.ticks, event.lane as i64, event.spec.name);
        for (name, value) in event.spec.values.iter().zip(event.values) {
            write!(line, " {name}={value}").unwrap();
        }
        if event.stack != 0 {
            let stack = trace.stack(event.generation, event.stack);
            let names =
                stack.map(|frames| frames.map(|f| String::from_utf8_lossy(f.function)).collect::<Vec<_>>());
            write!(line, " at {}", names.map_or_else(|| "?".to_owned(), |names| names.join("<"))).unwrap();
        }
        if !event.text.is_empty() {
            write!(line, " {:?}", String::from_utf8_lossy(event.text)).unwrap();
        }
        lines.push(line);
        ControlFlow::<()>::Continue(())
    });
    assert!(ended.unwrap().is_none());
    lines
}

/// The problems that are reported of a file.
pub(super) fn problems(bytes: &[u8]) -> Vec<String> {
    Trace::open(bytes).unwrap().problems().iter().map(ToString::to_string).collect()
}

/// A file of these records of layout one.
pub(super) fn file_one(records: &[u8]) -> Vec<u8> {
    [&Version::WRITTEN.encode()[..], records].concat()
}

/// A number as Go writes it when it knows it at once.
pub(super) fn number(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A small file of layout one, with everything in it that a writer makes.
pub(super) fn sample_one() -> Vec<u8> {
    let mut writer = Writer::create(Vec::new()).unwrap();
    let (main, file) = (writer.text(b"main").unwrap(), writer.text(b"main.go").unwrap());
    let parse = writer.text(b"parse").unwrap();
    let frame = |function, line| super::FrameOf { pc: 0x400_000 + line, function, file, line };
    writer.stack(1, &[frame(main, 3)]).unwrap();
    writer.stack(2, &[frame(parse, 9), frame(main, 4)]).unwrap();
    let mut put =
        |p, ticks, kind, values: &[u64], attached| writer.event(p, ticks, kind, values, attached).unwrap();
    put(0, 100, kinds::PROCS, &[2], Attached { stack: 1, text: b"" });
    put(0, 101, kinds::GO_CREATE, &[1, 1], Attached::default());
    put(0, 102, kinds::PROC_START, &[7], Attached::default());
    put(0, 103, kinds::GO_START, &[1, 0], Attached::default());
    for n in 0..20 {
        put(n % 2, 200 + 10 * n, kinds::HEAP_LIVE, &[8192 * (n + 1)], Attached::default());
    }
    put(0, 500, kinds::GC_BEGIN, &[0], Attached { stack: 2, text: b"" });
    put(0, 600, kinds::GC_END, &[], Attached::default());
    put(0, 600, kinds::HEAP_GOAL, &[4 << 20], Attached::default());
    put(1, 700, kinds::LOG, &[0, parse.number()], Attached { stack: 2, text: b"24 bytes" });
    writer.finish(1_000_000_000).unwrap()
}

/// A batch of layout two, its size padded.
pub(super) fn batch(first: &[u64], content: &[u8]) -> Vec<u8> {
    let (kind, rest) = (if first.len() == 4 { 49 } else { 1 }, first);
    let mut bytes = vec![kind];
    rest.iter().for_each(|value| bytes.extend(number(*value)));
    let mut size = [0; 10];
    assert!(heapscribe_wire::reserve::put_padded(&mut size, content.len() as u64));
    [&bytes[..], &size, content].concat()
}

/// Bytes of [`sample_two`] up to its second generation.
pub(super) const FIRST_GENERATION_BYTES: usize = 255;

/// A small file of layout two: two generations of two threads, the first with the experiment.
pub(super) fn sample_two() -> Vec<u8> {
    let none = u64::MAX;
    let mut file = b"go 1.23 trace\0\0\0".to_vec();
    file.extend(batch(
        &[1, 1, none, 0],
        &[&[1][..], &number(0x00c0_0000_0000), &number(8192), &[8], &number(2048)].concat(),
    ));
    file.extend(batch(
        &[1, 5, 1000],
        &[25, 1, 1, 5, 2, 128, 1, 0, 1, 14, 131, 0, 3, 0, 132, 9, 6, 1, 37, 2, 0x80, 0x40],
    ));
    file.extend(batch(&[1, 6, 1005], &[26, 1, 2, 1, 27, 9, 133, 1, 6]));
    file.extend(batch(&[1, none, 1100], &[&[8][..], &number(15_625_000)].concat()));
    file.extend(batch(&[1, none, 1100], &[&[2, 3, 1, 1][..], &number(0x400_000), &[1, 3, 7]].concat()));
    file.extend(batch(&[1, 1, none, 1100], b"\x00\x01\x10\x18\x10\x04node"));
    file.extend(batch(&[1, none, 1100], b"\x04\x05\x01\x04main\x05\x02\x04stop\x05\x03\x01f"));
    file.extend(batch(&[2, 5, 2000], &[38, 1, 5, 29, 3, 1, 0, 30, 4, 1]));
    file.extend(batch(&[2, none, 2100], &[&[8][..], &number(15_625_000)].concat()));
    file.extend(batch(&[2, none, 2100], b"\x04\x05\x07\x01g"));
    file
}

#[test]
fn a_written_file_is_read_back() {
    let bytes = sample_one();
    assert_eq!(problems(&bytes), [""; 0]);
    let lines = lines(&bytes);
    assert_eq!(lines.len(), 28);
    assert_eq!(lines[0], "100 0 Gomaxprocs procs=2 at main");
    assert_eq!(lines[5], "210 1 HeapAlloc mem=16384");
    assert_eq!(lines[24], "500 0 GCStart seq=0 at parse<main");
    assert_eq!(lines[27], "700 1 UserLog id=0 keyid=3 at parse<main \"24 bytes\"");
    let trace = Trace::open(&*bytes).unwrap();
    assert_eq!((trace.frequency(), trace.ticks()), (Some(1_000_000_000), Some((100, 700))));
    assert_eq!((trace.ns(700), trace.names(), trace.events()), (600, (3, 2), 28));
}

#[test]
fn generations_have_names_of_their_own() {
    let bytes = sample_two();
    assert_eq!(problems(&bytes), [""; 0]);
    let expected = [
        "1001 5 GoStatus g=1 m=5 gstatus=2",
        "1002 5 Span id=0 npages_value=1 kindclass=14",
        "1002 5 HeapObject id=3 type=0",
        "1006 6 STWBegin kind_string=2 at main",
        "1011 5 HeapObjectAlloc id=6 type=1",
        "1013 5 HeapAlloc heapalloc_value=8192",
        "1015 6 STWEnd",
        "1016 6 HeapObjectFree id=6",
        "2001 5 HeapGoal heapgoal_value=5",
        "2004 5 GCBegin gc_seq=1",
        "2008 5 GCEnd gc_seq=1",
    ];
    assert_eq!(lines(&bytes), expected);
    let trace = Trace::open(&*bytes).unwrap();
    assert_eq!(
        trace.generations().iter().map(|g| (g.number, g.events)).collect::<Vec<_>>(),
        [(1, 8), (2, 3)]
    );
    assert_eq!((trace.text(0, 1), trace.text(1, 1)), (Some(&b"main"[..]), None));
    assert_eq!(trace.stop_reason(0, 2), "stop");
    let of = trace.type_of(0, 1).unwrap();
    assert_eq!((of.name, of.size_bytes, of.pointer_bytes), (&b"node"[..], 24, 16));
    assert_eq!(trace.ns(2008), 1007 * 64);
    assert_eq!(trace.heap_events(), 4);
}
