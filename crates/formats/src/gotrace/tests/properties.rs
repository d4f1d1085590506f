//! What is written is read back.

use proptest::prelude::*;

use super::super::{Attached, FRAMES_MAX, Fault, FrameOf, Malformed, Spec, Trace, Writer, kinds};
use std::ops::ControlFlow;

const KINDS: [&Spec; 9] = [
    kinds::PROCS,
    kinds::PROC_START,
    kinds::GC_BEGIN,
    kinds::GC_END,
    kinds::GO_CREATE,
    kinds::GO_START,
    kinds::HEAP_LIVE,
    kinds::HEAP_GOAL,
    kinds::LOG,
];

/// An event: its P, how much later it is than the P's one before, and what it has.
#[derive(Clone, Debug)]
struct Put {
    p: u64,
    later: u64,
    kind: usize,
    values: [u64; 2],
    stack: u64,
    text: Vec<u8>,
}

fn puts() -> impl Strategy<Value = Vec<Put>> {
    let lane = prop_oneof![0..4u64, Just(u64::MAX)];
    let size = prop_oneof![0..200u64, any::<u64>()];
    let text = prop::collection::vec(any::<u8>(), 0..40);
    let put = (lane, 0..1000u64, 0..KINDS.len(), [size.clone(), size.clone()], size, text)
        .prop_map(|(p, later, kind, values, stack, text)| Put { p, later, kind, values, stack, text });
    prop::collection::vec(put, 0..300)
}

/// What is comparable of an event.
type ReadEvent = (u64, u64, u8, Vec<u64>, u64, Vec<u8>);

fn written(puts: &[Put]) -> (Vec<u8>, Vec<ReadEvent>) {
    let mut writer = Writer::create(Vec::new()).unwrap();
    let (mut ticks, mut read) = (0, Vec::new());
    for put in puts {
        let kind = KINDS[put.kind];
        ticks += put.later;
        writer
            .event(put.p, ticks, kind, &put.values, Attached { stack: put.stack, text: &put.text })
            .unwrap();
        let stack = if kind.has_stack { put.stack } else { 0 };
        let text = if kind == kinds::LOG { put.text.clone() } else { Vec::new() };
        read.push((ticks, put.p, kind.code, put.values[..kind.values.len()].to_vec(), stack, text));
    }
    (writer.finish(1_000_000_000).unwrap(), read)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn events_are_read_in_the_order_of_time(puts in puts()) {
        let (bytes, mut expected) = written(&puts);
        let trace = Trace::open(&*bytes).unwrap();
        // Stacks are written by whoever names them, here by nobody.
        let is_stacks = |problem: &Malformed| matches!(problem.fault, Fault::MissingStacks(_));
        prop_assert!(trace.problems().iter().all(is_stacks), "{:?}", trace.problems());
        let mut read: Vec<ReadEvent> = Vec::new();
        let ended = trace.for_each(|e| {
            read.push((e.ticks, e.lane, e.spec.code, e.values.to_vec(), e.stack, e.text.to_vec()));
            ControlFlow::<()>::Continue(())
        });
        prop_assert!(ended.is_ok());
        prop_assert!(read.is_sorted_by_key(|read| read.0));
        // Of equal times in several lanes either may come first.
        read.sort_by_key(|read| (read.0, read.1));
        expected.sort_by_key(|read| (read.0, read.1));
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn stacks_and_texts_are_read_back(
        stacks in prop::collection::vec((1..u64::MAX, prop::collection::vec(("[a-z]{0,9}", any::<u64>(), 0..9999u64), 1..40)), 1..20),
    ) {
        let mut writer = Writer::create(Vec::new()).unwrap();
        for (id, frames) in &stacks {
            let frames: Vec<_> = frames
                .iter()
                .map(|(name, pc, line)| {
                    let function = writer.text(name.as_bytes()).unwrap();
                    FrameOf { pc: *pc, function, file: function, line: *line }
                })
                .collect();
            writer.stack(*id, &frames).unwrap();
        }
        let bytes = writer.finish(1).unwrap();
        let trace = Trace::open(&*bytes).unwrap();
        for (n, (id, frames)) in stacks.iter().enumerate() {
            if stacks[n + 1..].iter().any(|(later, _)| later == id) {
                continue;
            }
            let read: Vec<_> = trace.stack(0, *id).unwrap()
                .map(|f| (String::from_utf8(f.function.to_vec()).unwrap(), f.pc, f.line)).collect();
            prop_assert_eq!(&read, frames);
        }
    }
}

#[test]
fn full_buffers_are_written_behind_their_definitions() {
    let mut writer = Writer::create(Vec::new()).unwrap();
    for n in 0..40_000u64 {
        let text = writer.text(format!("function {n}").as_bytes()).unwrap();
        writer.stack(n + 1, &[FrameOf { pc: n, function: text, file: text, line: n }]).unwrap();
        writer
            .event(n % 3, n, kinds::LOG, &[0, text.number()], Attached { stack: n + 1, text: b"some bytes" })
            .unwrap();
    }
    let bytes = writer.finish(1000).unwrap();
    // Whatever is cut off, events name only what is there.
    for cut in [bytes.len() / 3, bytes.len() / 2, bytes.len()] {
        let trace = Trace::open(&bytes[..cut]).unwrap();
        let mut events = 0;
        let ended = trace.for_each(|event| {
            events += 1;
            assert!(trace.stack(0, event.stack).is_some() && trace.text(0, event.value(1)).is_some());
            ControlFlow::<()>::Continue(())
        });
        assert!(ended.is_ok() && events > 0);
    }
    assert_eq!(Trace::open(&*bytes).unwrap().events(), 40_000);
}

#[test]
fn long_texts_and_stacks_are_cut() {
    let mut writer = Writer::create(Vec::new()).unwrap();
    let long = writer.text("ä".repeat(600).as_bytes()).unwrap();
    let frame = FrameOf { pc: 1, function: long, file: long, line: 1 };
    writer.stack(1, &vec![frame; FRAMES_MAX + 1]).unwrap();
    let bytes = writer.finish(1).unwrap();
    let trace = Trace::open(&*bytes).unwrap();
    let mut frames = trace.stack(0, 1).unwrap();
    assert_eq!(frames.len(), FRAMES_MAX);
    assert_eq!(frames.next().unwrap().function, "ä".repeat(512).as_bytes());
}
