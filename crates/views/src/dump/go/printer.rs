//! The entries of a Go trace, one at a time.

use std::io;

use heapscribe_formats::gotrace::{Event, Layout, NamedFrame, Trace};

use heapscribe_convert::file_source::FileSource;

/// A trace in a file.
pub type GoTrace = Trace<FileSource>;

/// The number of a stack: numbers begin anew in each generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackNumber {
    /// The number of the generation in its file.
    pub generation: u64,
    /// The number of the stack in its generation.
    pub stack: u64,
}

/// Writes the entries of a trace, one at a time.
pub trait Printer {
    /// The trace as a whole.
    fn begin(&mut self, trace: &GoTrace) -> io::Result<()>;
    /// A stack, the innermost frame first.
    fn stack(&mut self, id: StackNumber, frames: &mut dyn Iterator<Item = NamedFrame<'_>>) -> io::Result<()>;
    /// An event.
    fn event(&mut self, trace: &GoTrace, event: &Event<'_>) -> io::Result<()>;
}

/// What a value of an event stands for, when it is the number of a text or of a type.
pub(super) fn meaning<'t>(trace: &'t GoTrace, event: &Event<'_>, name: &str, value: u64) -> Option<&'t [u8]> {
    match name {
        "type" => trace.type_of(event.generation, value).map(|of| of.name),
        "labelid" | "typeid" | "keyid" => trace.text(event.generation, value),
        name if name.ends_with("_string") => trace.text(event.generation, value),
        _ => None,
    }
}

/// `P0` or `M8940`: where an event was.
pub(super) fn lane(trace: &GoTrace, event: &Event<'_>) -> String {
    let letter = if trace.version().layout() == Layout::One { 'P' } else { 'M' };
    match event.lane {
        u64::MAX => format!("{letter}-"),
        lane => format!("{letter}{lane}"),
    }
}

/// The number of an event's generation in its file.
pub(super) fn generation(trace: &GoTrace, index: u32) -> u64 {
    trace.generations().get(index as usize).map_or(0, |generation| generation.number)
}
