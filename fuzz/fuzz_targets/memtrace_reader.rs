//! Any bytes as a memtrace file: read strictly and salvaged, and what was read strictly is written and
//! read again.
#![no_main]

use std::ops::ControlFlow;

use heapscribe_formats::memtrace::{Event, Order, ReadOptions, Reader, WriteOptions, Writer};

/// Frames that are looked at in all: a few bytes can ask for millions of them.
const FRAMES: usize = 1 << 22;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    read(bytes, ReadOptions { stacks: false, salvage: false });
    read(bytes, ReadOptions { stacks: true, salvage: true });
    if let Some(copy) = copy(bytes) {
        let again = read(&copy, ReadOptions::default()).expect("what we wrote can be opened");
        assert!(again.is_ok(), "{again:?}");
    }
});

/// What a file says, up to some length; `None` when it cannot be opened.
fn read(bytes: &[u8], options: ReadOptions) -> Option<Result<usize, String>> {
    let mut reader = Reader::open(bytes, options).ok()?;
    let (mut events, mut frames) = (0, 0);
    let ended = reader.for_each(|moment, event| {
        events += 1;
        if let Event::Alloc(alloc) = event {
            frames += alloc.stack.len();
            alloc.stack.iter().take(99).for_each(|code| drop(moment.locations.get(*code)));
        }
        if frames < FRAMES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    Some(ended.map(|_| events).map_err(|e| e.to_string()))
}

fn copy(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader::open(bytes, ReadOptions::default()).ok()?;
    let start_us = reader.info().start_us;
    let options = WriteOptions { order: Order::Multiplexed, ..WriteOptions::default() };
    let mut writer = Writer::create(Vec::new(), reader.info(), options).ok()?;
    let mut frames = 0;
    // What comes before damage is written as well.
    let _ = reader.for_each(|moment, event| {
        let (domain, time_us) = (moment.domain, start_us.wrapping_add(moment.time_us));
        let written = match event {
            Event::Alloc(alloc) => {
                frames += alloc.stack.len();
                writer.alloc(domain, time_us, alloc, moment.locations).map(|_| ())
            }
            Event::Promote(id) => writer.promote(domain, time_us, *id, moment.locations),
            Event::Collect(id) => writer.collect(domain, time_us, *id, moment.locations),
        };
        if written.is_ok() && frames < FRAMES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    writer.finish(reader.locations()).ok()
}
