//! What is tested here: each rule of the format that surprises, damaged files, and that what is written
//! is read back. Traces are scripts, events are lines.

mod damage;
mod properties;
mod quirks;

use std::fmt::Write as _;
use std::ops::ControlFlow;

use super::event::{Event, Moment};
use super::header::Header;
use super::read::{ReadOptions, Reader};
use super::script;
use super::write::Order;
use super::{Locations, MemtraceError};

/// The begin of every script here: start of the trace at 1 s.
pub(super) const INFO: &str = "info\t0x1p-7\t64\texec\thost\tparams\t42\t0\t1000000\t-\n";

/// A file of a script with [`INFO`] before it.
pub(super) fn file(order: Order, lines: &str) -> Vec<u8> {
    script::run(&format!("{INFO}{lines}"), order).unwrap()
}

/// `12 d0 +3 0 8w x1 Minor main>parse`: time, domain, kind, object.
fn line(moment: &Moment<'_>, event: &Event<'_>) -> String {
    let mut out = format!("{} d{} ", moment.time_us, moment.domain);
    match event {
        Event::Alloc(a) => {
            let stack: Vec<_> = a.stack.iter().map(|code| name(moment.locations, code.0)).collect();
            let stack = stack.join(">");
            write!(out, "+{} {}w x{} {:?} {stack}", a.id.0, a.length_words, a.samples, a.heap).unwrap();
        }
        Event::Promote(id) => write!(out, "^{}", id.0).unwrap(),
        Event::Collect(id) => write!(out, "-{}", id.0).unwrap(),
    }
    out
}

fn name(locations: &Locations, code: i64) -> String {
    match locations.get(super::LocationCode(code)) {
        None => "?".to_owned(),
        Some([]) => code.to_string(),
        Some(frames) => {
            let names = frames.iter().map(|f| String::from_utf8_lossy(locations.text(f.function)));
            names.collect::<Vec<_>>().join("/")
        }
    }
}

/// The events of a file as lines, and how reading ended.
pub(super) struct Read {
    pub(super) lines: Vec<String>,
    pub(super) error: Option<String>,
    pub(super) skipped: Vec<String>,
    pub(super) missing: u64,
}

pub(super) fn read(bytes: &[u8], options: ReadOptions) -> Read {
    let mut lines = Vec::new();
    let mut reader = Reader::open(bytes, options).unwrap();
    let ended: Result<Option<()>, MemtraceError> = reader.for_each(|moment, event| {
        lines.push(line(moment, event));
        ControlFlow::Continue(())
    });
    Read {
        lines,
        error: ended.err().map(|e| e.to_string()),
        skipped: reader.skipped().iter().map(ToString::to_string).collect(),
        missing: reader.missing_objects(),
    }
}

/// Checks that the file of a script has these events.
pub(super) fn check(lines: &str, expected: &[&str]) {
    for order in [Order::Direct, Order::Multiplexed] {
        let read = read(&file(order, lines), ReadOptions::default());
        assert_eq!((read.lines, read.error), (expected.iter().map(ToString::to_string).collect(), None));
    }
}

/// The packets of a file: where each begins, and its header.
pub(super) fn packets(bytes: &[u8]) -> Vec<(usize, Header)> {
    let (mut at, mut list) = (0, Vec::new());
    while at < bytes.len() {
        let header = Header::decode(&bytes[at..]).unwrap();
        list.push((at, header));
        at += header.packet_bytes;
    }
    list
}
