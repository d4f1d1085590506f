//! A Go trace as lines of text.
//!
//! ```text
//!   # go 1.23 trace, 15625000 ticks a second
//!   # stack S7 of G1: main.grow alloc1.go:49 < main.main alloc1.go:84
//!   64 G1 M8940 STWBegin kind_string=22 "stop-the-world (start trace)" S2
//! ```

use std::io::{self, Write};

use heapscribe_formats::gotrace::{Event, NamedFrame};

use super::printer::{GoTrace, Printer, StackNumber, generation, lane, meaning};
use heapscribe_symbols::lossy;

/// Writes lines.
pub struct Lines<W> {
    /// Where the lines go.
    pub out: W,
}

impl<W: Write> Printer for Lines<W> {
    fn begin(&mut self, trace: &GoTrace) -> io::Result<()> {
        let clock = match trace.frequency() {
            Some(frequency) => format!("{frequency} ticks a second"),
            None => "a tick's length is not known: times are ticks".to_owned(),
        };
        writeln!(self.out, "# {} trace, {clock}", trace.version())
    }

    fn stack(
        &mut self,
        number: StackNumber,
        frames: &mut dyn Iterator<Item = NamedFrame<'_>>,
    ) -> io::Result<()> {
        write!(self.out, "# stack S{} of G{}:", number.stack, number.generation)?;
        for (n, frame) in frames.enumerate() {
            let (before, function) = (if n == 0 { "" } else { " <" }, lossy(frame.function));
            write!(self.out, "{before} {function} {}:{}", lossy(frame.file), frame.line)?;
        }
        writeln!(self.out)
    }

    fn event(&mut self, trace: &GoTrace, event: &Event<'_>) -> io::Result<()> {
        let (time, generation) = (trace.ns(event.ticks), generation(trace, event.generation));
        write!(self.out, "{time} G{generation} {} {}", lane(trace, event), event.spec.name)?;
        for (name, value) in event.spec.values.iter().zip(event.values) {
            write!(self.out, " {name}={value}")?;
            if let Some(text) = meaning(trace, event, name, *value) {
                write!(self.out, " {:?}", lossy(text))?;
            }
        }
        if event.stack != 0 {
            write!(self.out, " S{}", event.stack)?;
        }
        if !event.text.is_empty() {
            write!(self.out, " {:?}", lossy(event.text))?;
        }
        writeln!(self.out)
    }
}
