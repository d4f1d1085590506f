//! How fast memtrace files are read and written, on one core, from and to memory: the fastest of several
//! runs, as other programs can only slow one down.
//!
//! `cargo bench -p heapscribe-formats --bench memtrace_speed -- FILE.ctf ...`

mod timer;

use std::hint::black_box;
use std::ops::ControlFlow;

use heapscribe_formats::memtrace::{
    Alloc, Event, Heap, Info, LocationCode, Locations, ObjectId, ReadOptions, Reader, WriteOptions, Writer,
};

use timer::fastest;

/// An event that is kept, its stack as a place in one list of all of them.
struct OwnedEvent {
    time_us: i64,
    domain: u16,
    kind: OwnedKind,
}

enum OwnedKind {
    Alloc { length_words: i64, samples: i64, heap: Heap, frames: (usize, usize), reused_frames: usize },
    Promote(ObjectId),
    Collect(ObjectId),
}

struct Trace {
    info: Info,
    events: Vec<OwnedEvent>,
    frames: Vec<LocationCode>,
    locations: Locations,
}

fn main() {
    for path in std::env::args().skip(1).filter(|a| a != "--bench") {
        let bytes = std::fs::read(&path).expect("a file");
        let events = decode(&bytes, false).0;
        let n = events as f64 / 1e6;
        let frames = decode(&bytes, true).1;
        let with = fastest(|| decode(&bytes, true));
        let without = fastest(|| decode(&bytes, false));
        let trace = collect(&bytes);
        let encode_s = fastest(|| encode(&trace));
        let name = path.rsplit('/').next().unwrap_or(&path);
        println!(
            "{name:<28} {:>8} bytes {events:>8} events {:>6.1} bytes/event {:>7.1} frames/event",
            bytes.len(),
            bytes.len() as f64 / events as f64,
            frames as f64 / events as f64,
        );
        println!(
            "    decode {:>6.1} M events/s with stacks, {:>6.1} without; encode {:>6.1} M events/s",
            n / with,
            n / without,
            n / encode_s
        );
    }
}

/// Events, and frames of all stacks.
fn decode(bytes: &[u8], stacks: bool) -> (u64, u64) {
    let mut reader = Reader::open(bytes, ReadOptions { stacks, salvage: false }).expect("a memtrace file");
    let (mut events, mut frames, mut sum) = (0, 0, 0i64);
    let read = reader.for_each(|moment, event| {
        events += 1;
        sum = sum.wrapping_add(moment.time_us);
        if let Event::Alloc(alloc) = event {
            frames += alloc.stack.len() as u64;
            sum = sum.wrapping_add(alloc.length_words);
            sum = sum.wrapping_add(alloc.stack.last().map_or(0, |code| code.0));
        }
        ControlFlow::<()>::Continue(())
    });
    read.expect("a whole file");
    black_box(sum);
    (events, frames)
}

fn collect(bytes: &[u8]) -> Trace {
    let mut reader = Reader::open(bytes, ReadOptions::default()).expect("a memtrace file");
    let start_us = reader.info().start_us;
    let (mut events, mut frames) = (Vec::new(), Vec::new());
    let read = reader.for_each(|moment, event| {
        let kind = match event {
            Event::Alloc(alloc) => {
                let begin = frames.len();
                frames.extend_from_slice(alloc.stack);
                let Alloc { length_words, samples, heap, reused_frames, .. } = *alloc;
                OwnedKind::Alloc { length_words, samples, heap, frames: (begin, frames.len()), reused_frames }
            }
            Event::Promote(id) => OwnedKind::Promote(*id),
            Event::Collect(id) => OwnedKind::Collect(*id),
        };
        events.push(OwnedEvent { time_us: start_us + moment.time_us, domain: moment.domain, kind });
        ControlFlow::<()>::Continue(())
    });
    read.expect("a whole file");
    Trace { info: reader.info().clone(), events, frames, locations: reader.locations().clone() }
}

fn encode(trace: &Trace) -> usize {
    let Trace { info, events, frames, locations } = trace;
    let sink = Vec::with_capacity(64 << 20);
    let mut writer = Writer::create(sink, info, WriteOptions::default()).expect("memory");
    for OwnedEvent { time_us, domain, kind } in events {
        let (time_us, domain) = (*time_us, *domain);
        let written = match *kind {
            OwnedKind::Alloc { length_words, samples, heap, frames: (begin, end), reused_frames } => {
                let stack = &frames[begin..end];
                let alloc =
                    Alloc { id: ObjectId(0), length_words, samples, heap, common: 0, reused_frames, stack };
                writer.alloc(domain, time_us, &alloc, locations).map(|_| ())
            }
            OwnedKind::Promote(id) => writer.promote(domain, time_us, id, locations),
            OwnedKind::Collect(id) => writer.collect(domain, time_us, id, locations),
        };
        written.expect("memory");
    }
    writer.finish(locations).expect("memory").len()
}
