//! Any bytes as a trace of Go's: read to its end, and what was read of layout one is written and read again.
#![no_main]

use std::ops::ControlFlow;

use heapscribe_formats::gotrace::{Attached, Event, Fault, Layout, Trace, Writer};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(trace) = Trace::open(bytes) else { return };
    let (mut events, mut last) = (0, 0);
    let read = trace.for_each(|event| {
        assert!(last <= event.ticks, "out of order");
        last = event.ticks;
        events += 1;
        look_at(&trace, event);
        ControlFlow::<()>::Continue(())
    });
    assert!(read.is_ok(), "{read:?}");
    assert_eq!(events, trace.events());
    for (generation, id) in trace.stack_ids() {
        assert!(trace.stack(generation, id).is_some_and(|frames| frames.len() > 0));
    }
    if trace.version().layout() == Layout::One {
        let copy = copy(&trace);
        let again = Trace::open(&*copy).expect("what we wrote can be opened");
        assert_eq!(again.events(), events);
        assert!(again.problems().iter().all(|problem| matches!(problem.fault, Fault::MissingStacks(_))));
    }
});

fn look_at(trace: &Trace<&[u8]>, event: &Event<'_>) {
    std::hint::black_box(event.meaning());
    std::hint::black_box(trace.ns(event.ticks));
    if let Some(frames) = trace.stack(event.generation, event.stack) {
        frames.take(9).for_each(|frame| drop(std::hint::black_box(frame)));
    }
}

fn copy(trace: &Trace<&[u8]>) -> Vec<u8> {
    let mut writer = Writer::create(Vec::new()).expect("memory");
    let read = trace.for_each(|e| {
        writer
            .event(e.lane, e.ticks, e.spec, e.values, Attached { stack: e.stack, text: e.text })
            .expect("memory");
        ControlFlow::<()>::Continue(())
    });
    assert!(read.is_ok());
    writer.finish(1).expect("memory")
}
