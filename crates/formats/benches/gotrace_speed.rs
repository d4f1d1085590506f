//! How fast traces of Go's are read, on one core, from memory: the fastest of several runs, as other
//! programs can only slow one down. Reading is both passes: names and places, then events by time.
//!
//! `cargo bench -p heapscribe-formats --bench gotrace_speed -- FILE.trace ...`

mod timer;

use std::ops::ControlFlow;

use heapscribe_formats::gotrace::{Attached, Meaning, Trace, Writer};

use timer::fastest;

fn main() {
    for path in std::env::args().skip(1).filter(|a| a != "--bench") {
        let bytes = std::fs::read(&path).expect("a file");
        let trace = Trace::open(&*bytes).expect("a trace of Go's");
        let events = trace.events() as f64;
        let open_s = fastest(|| Trace::open(&*bytes).expect("a trace of Go's").events());
        let both_s = fastest(|| read(&Trace::open(&*bytes).expect("a trace of Go's")));
        let write_s = fastest(|| write(&trace));
        let name = path.rsplit('/').next().unwrap_or(&path);
        println!(
            "{name:<28} {:>9} bytes {events:>9} events {:>5.1} bytes/event; first pass {:>6.1} M events/s, \
             both {:>6.1}; events written {:>6.1}",
            bytes.len(),
            bytes.len() as f64 / events,
            events / open_s / 1e6,
            events / both_s / 1e6,
            events / write_s / 1e6,
        );
    }
}

fn read(trace: &Trace<&[u8]>) -> u64 {
    let mut sum = 0u64;
    let read = trace.for_each(|event| {
        if let Meaning::HeapLive(bytes) = event.meaning() {
            sum = sum.wrapping_add(bytes);
        }
        sum = sum.wrapping_add(event.ticks);
        ControlFlow::<()>::Continue(())
    });
    assert!(read.is_ok());
    sum
}

/// All events as ones of layout one; those of layout two have other numbers there, but are as long.
fn write(trace: &Trace<&[u8]>) -> usize {
    let mut writer = Writer::create(Vec::with_capacity(64 << 20)).expect("memory");
    let read = trace.for_each(|e| {
        writer
            .event(e.lane, e.ticks, e.spec, e.values, Attached { stack: e.stack, text: e.text })
            .expect("memory");
        ControlFlow::<()>::Continue(())
    });
    assert!(read.is_ok());
    writer.finish(1_000_000_000).expect("memory").len()
}
