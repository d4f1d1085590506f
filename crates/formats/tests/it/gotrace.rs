//! Files of Go's own tracer, compared with the output of Go's own reader.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::PathBuf;

use heapscribe_formats::gotrace::{Event, Meaning, Trace};

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/go").join(name);
    std::fs::read(path).unwrap()
}

fn each(trace: &Trace<&[u8]>, mut visit: impl FnMut(&Event<'_>)) {
    let read = trace.for_each(|event| {
        visit(event);
        ControlFlow::<()>::Continue(())
    });
    assert!(read.unwrap().is_none());
}

/// The words of a line of Go's reader: `ns NAME p=P g=G off=OFFSET values`, by the event's offset.
fn dump(text: &str) -> HashMap<u64, Vec<&str>> {
    let words = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    words.map(|words| (words[4].strip_prefix("off=").unwrap().parse().unwrap(), words)).collect()
}

#[test]
fn every_event_is_that_of_go() {
    let (bytes, text) =
        (fixture("go119-tiny.trace"), String::from_utf8(fixture("go119-tiny.dump.txt")).unwrap());
    let (trace, theirs) = (Trace::open(&*bytes).unwrap(), dump(&text));
    assert_eq!((trace.problems().len(), trace.events()), (0, theirs.len() as u64));
    each(&trace, |event| {
        let words = &theirs[&event.offset];
        let name = event.spec.name.strip_suffix("Local").unwrap_or(event.spec.name);
        assert_eq!(name, words[1]);
        // Go's reader takes the time of this one from its values.
        assert!(name == "GoSysExit" || trace.ns(event.ticks).to_string() == words[0], "{words:?}");
        for (name, value) in event.spec.values.iter().zip(event.values) {
            let pair = format!("{name}={value}");
            assert!(event.spec.name.ends_with("Local") || words[5..].contains(&&*pair), "{pair} {words:?}");
        }
    });
}

#[test]
fn stacks_have_the_names_of_the_source() {
    let bytes = fixture("go119-tiny.trace");
    let trace = Trace::open(&*bytes).unwrap();
    let mut of_gc = Vec::new();
    each(&trace, |event| {
        if event.meaning() == Meaning::GcBegin {
            let frames = trace.stack(event.generation, event.stack).unwrap();
            of_gc = frames.map(|f| (String::from_utf8_lossy(f.function).into_owned(), f.line)).collect();
        }
    });
    assert_eq!(of_gc, [("runtime.GC".to_owned(), 445), ("main.main".to_owned(), 30)]);
}

#[test]
fn generations_of_a_killed_program_are_read() {
    let bytes = fixture("go123-killed.trace");
    let trace = Trace::open(&*bytes).unwrap();
    let generations: Vec<_> = trace.generations().iter().map(|g| (g.number, g.frequency)).collect();
    assert_eq!(generations, [(1, Some(15_625_000)), (2, Some(15_625_000)), (3, Some(15_625_000))]);
    assert_eq!((trace.problems().len(), trace.names()), (0, (238, 92)));
    let (mut unnamed, mut levels) = (0, 0);
    each(&trace, |event| {
        unnamed += usize::from(event.stack != 0 && trace.stack(event.generation, event.stack).is_none());
        levels += usize::from(matches!(event.meaning(), Meaning::HeapLive(_)));
    });
    assert_eq!((unnamed, levels), (0, 1131));
    let header = fixture("go119-killed.trace");
    let nothing = Trace::open(&*header).unwrap();
    assert_eq!((nothing.events(), nothing.problems().len()), (0, 1));
}

/// The part of an event that does not depend on later parts of the file.
fn bare(event: &Event<'_>) -> (u64, u64, u8) {
    (event.offset, event.ticks, event.spec.code)
}

#[test]
fn every_cut_is_read_as_far_as_it_goes() {
    let whole = fixture("go119-tiny.trace");
    let mut all = HashSet::new();
    each(&Trace::open(&*whole).unwrap(), |event| {
        all.insert(bare(event));
    });
    for cut in 16..whole.len() {
        let trace = Trace::open(&whole[..cut]).unwrap();
        let (mut read, mut unnamed) = (0, 0);
        each(&trace, |event| {
            assert!(all.contains(&bare(event)), "cut at {cut}");
            unnamed += usize::from(event.stack != 0 && trace.stack(0, event.stack).is_none());
            read += 1;
        });
        // Whatever is missing is reported: the clock, or stacks.
        let is_whole = trace.frequency().is_some() && unnamed == 0;
        assert!(is_whole || !trace.problems().is_empty(), "cut at {cut}");
        assert!(trace.problems().is_empty() || cut < whole.len());
        assert!(read <= all.len());
    }
}

#[test]
fn cuts_of_generations_leave_whole_batches() {
    let whole = fixture("go123-killed.trace");
    let mut last = 0;
    for cut in (16..whole.len()).step_by(997) {
        let trace = Trace::open(&whole[..cut]).unwrap();
        let mut ticks = 0;
        each(&trace, |event| assert!(std::mem::replace(&mut ticks, event.ticks) <= event.ticks));
        assert!(trace.events() >= last, "cut at {cut}");
        last = trace.events();
    }
}
