//! A trace of Go's: what its numbers mean, then its events in the order of time. [`lines`] is for people,
//! [`objects`] for programs, [`oracle`] has the forms in which Go's own reader was asked for the heap and
//! the stacks.

pub(crate) mod lines;
pub(crate) mod objects;
pub(crate) mod oracle;

use std::io;

use heapscribe_formats::gotrace::{Event, Layout, NamedFrame, Trace};

use crate::trace_file::FileSource;

/// A trace in a file.
pub(crate) type GoTrace = Trace<FileSource>;

/// Takes the things of a trace, one at a time, and writes them.
pub(crate) trait Printer {
    /// The trace as a whole.
    fn begin(&mut self, trace: &GoTrace) -> io::Result<()>;
    /// A stack, by its generation's number and its own, the innermost frame first.
    fn stack(&mut self, id: (u64, u64), frames: &mut dyn Iterator<Item = NamedFrame<'_>>) -> io::Result<()>;
    /// An event.
    fn event(&mut self, trace: &GoTrace, event: &Event<'_>) -> io::Result<()>;
}

/// What a value of an event stands for, when it is the number of a text or of a type.
fn meaning<'t>(trace: &'t GoTrace, event: &Event<'_>, name: &str, value: u64) -> Option<&'t [u8]> {
    match name {
        "type" => trace.type_of(event.generation, value).map(|of| of.name),
        "labelid" | "typeid" | "keyid" => trace.text(event.generation, value),
        name if name.ends_with("_string") => trace.text(event.generation, value),
        _ => None,
    }
}

/// `P0` or `M8940`: where an event was.
fn lane(trace: &GoTrace, event: &Event<'_>) -> String {
    let letter = if trace.version().layout() == Layout::One { 'P' } else { 'M' };
    match event.lane {
        u64::MAX => format!("{letter}-"),
        lane => format!("{letter}{lane}"),
    }
}

/// The number of an event's generation in its file.
fn generation(trace: &GoTrace, index: u32) -> u64 {
    trace.generations().get(index as usize).map_or(0, |generation| generation.number)
}
