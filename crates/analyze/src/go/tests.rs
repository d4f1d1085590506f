//! A history that is written down by hand, and its answer.

use heapscribe_formats::gotrace::{Attached, FrameOf, Trace, Writer, kinds};

use super::*;
use crate::answer::Amount;

/// A file of layout one: one collection, live bytes up and down.
fn heap_history() -> Vec<u8> {
    let mut writer = Writer::create(Vec::new()).unwrap();
    let name = writer.text(b"main.main").unwrap();
    writer.stack(1, &[FrameOf { pc: 1, function: name, file: name, line: 1 }]).unwrap();
    let mut put = |ticks, kind, values: &[u64]| {
        writer.event(0, ticks, kind, values, Attached { stack: 1, text: b"" }).unwrap()
    };
    put(1000, kinds::PROCS, &[2]);
    put(1100, kinds::HEAP_LIVE, &[4000]);
    put(1200, kinds::GC_BEGIN, &[0]);
    put(1300, kinds::HEAP_LIVE, &[5000]);
    put(1500, kinds::HEAP_LIVE, &[2000]);
    put(1500, kinds::GC_END, &[]);
    put(1500, kinds::HEAP_GOAL, &[4000]);
    put(1900, kinds::HEAP_LIVE, &[3000]);
    put(2000, kinds::GC_BEGIN, &[1]);
    writer.finish(1_000_000_000).unwrap()
}

fn answer(bytes: &[u8]) -> GoAnswer {
    analyze(&Trace::open(bytes).unwrap(), &Options { timeline_steps: 10, ..Options::default() }).unwrap()
}

#[test]
fn a_heap_goes_up_and_down() {
    let answer = answer(&heap_history());
    let curve = &answer.curve;
    assert_eq!((answer.duration_ns, answer.events, answer.procs, answer.has_clock), (1000, 9, 2, true));
    assert_eq!(curve.first, Level { ns: 100, bytes: 4000 });
    assert_eq!(curve.peak, Level { ns: 300, bytes: 5000 });
    assert_eq!((curve.last, curve.goal_bytes), (Level { ns: 900, bytes: 3000 }, 4000));
    let max: Vec<_> = curve.steps.iter().map(|step| step.live_max_bytes).collect();
    assert_eq!(max, [4000, 4000, 5000, 5000, 5000, 2000, 2000, 2000, 3000, 3000]);
    let expected =
        Collection { begin_ns: 200, end_ns: 500, before_bytes: 4000, after_bytes: 2000, goal_bytes: 4000 };
    assert_eq!(answer.collections.list, [expected]);
    assert_eq!(
        answer.collections.work,
        Work { count: 1, total_ns: 300, longest_ns: 300, longest_at_ns: 200 }
    );
    assert_eq!(answer.collections.partial, 1, "the last one did not end");
    assert_eq!(answer.objects, None);
}

/// A batch of layout two; all numbers here fit in a byte or are put together by the caller.
fn batch(head: &[u8], content: &[u8]) -> Vec<u8> {
    [head, &[content.len() as u8 | 0x80, 0x80, 0], content].concat()
}

/// Goroutine 1 began with `main`, makes a node of 24 bytes, then two; a span of 24-byte objects at page 0.
fn object_history() -> Vec<u8> {
    const THERE: u8 = 131;
    const ALLOC: u8 = 132;
    const FREE: u8 = 133;
    let events = [
        &[128, 1, 0, 1, 3 << 2][..],
        &[THERE, 1, 0, 0, 25, 1, 1, 5, 2, 20, 1, 0, 1, 16, 1, 1, 1],
        &[
            ALLOC, 1, 3, 9, ALLOC, 1, 6, 9, FREE, 10, 3, FREE, 1, 0, ALLOC, 1, 9, 0, FREE, 1, 99, ALLOC, 1,
            0x80, 0x10, 9,
        ],
    ];
    [
        &b"go 1.23 trace\0\0\0"[..],
        &batch(&[49, 1, 1, 1, 0], &[1, 0, 0x80, 0x40, 8, 0x80, 0x10]),
        &batch(&[49, 1, 1, 1, 0], b"\0\x09\x01\x18\x10\x04node"),
        &batch(&[1, 1, 1, 0], &[8, 0x80, 0x94, 0xeb, 0xdc, 3]),
        &batch(&[1, 1, 1, 0], b"\x02\x03\x01\x01\x07\x01\x01\x01"),
        &batch(&[1, 1, 1, 0], b"\x04\x05\x01\x04main"),
        &batch(&[1, 1, 5, 10], &events.concat()),
    ]
    .concat()
}

#[test]
fn objects_have_types_sizes_and_ends() {
    let bytes = object_history();
    let trace = Trace::open(&*bytes).unwrap();
    assert!(trace.problems().is_empty(), "{:?}", trace.problems());
    let objects = answer(&bytes).objects.unwrap();
    let amount = |blocks, bytes| Amount { blocks, bytes };
    assert_eq!((objects.there, objects.allocated), (amount(1, 24), amount(4, 72)));
    assert_eq!((objects.freed, objects.live), (amount(2, 48), amount(3, 48)));
    assert_eq!((objects.peak.bytes, objects.unknown_frees, objects.without_size), (72, 1, 1));
    let node = objects.types.iter().find(|of| of.name == b"node").unwrap();
    assert_eq!((node.allocated, node.freed, node.live), (amount(3, 48), amount(1, 24), amount(2, 24)));
    assert_eq!((node.lived.count, node.lived.total_ns), (1, 11));
    let of = |goroutine: Option<&[u8]>, name: &[u8]| {
        let wanted =
            |a: &&Allocator| a.goroutine.as_deref() == goroutine && objects.types[a.type_index].name == name;
        objects.allocators.iter().find(wanted).cloned().unwrap()
    };
    let nodes = of(Some(b"main"), b"node");
    assert_eq!((nodes.allocated, nodes.at_peak, nodes.live), (amount(3, 48), amount(2, 48), amount(2, 24)));
    assert_eq!(of(None, b"").at_peak, amount(1, 24));
}

#[test]
fn a_program_that_was_killed_at_once_says_nothing() {
    let empty = answer(b"go 1.19 trace\0\0\0");
    assert_eq!((empty.events, empty.has_clock, empty.curve.steps.len()), (0, false, 1));
}
