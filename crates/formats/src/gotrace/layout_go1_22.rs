//! Layout two (Go 1.22 and later): batches, and what is in them.
//!
//! ```text
//!   batch     u8 1, generation, thread (2^64 - 1: none), ticks, size, then that many bytes
//!             u8 49, experiment, generation, thread, ticks, size, then that many bytes
//!   the first byte within a batch of kind 1 is the kind of its content:
//!     2       stacks: u8 3, number, frames, for each {address, function's text, file's text, line}
//!     4       texts: u8 5, number, length, bytes
//!     6       samples of the processor: u8 7, ticks, thread, P, goroutine, stack
//!     8       ticks a second
//!     others  events: u8 kind, ticks since the event before in this batch, values, stack if it has one
//!   a batch of experiment 1: u8 0, then types {number, address, bytes, bytes with pointers, name}
//!                            u8 1, begin of the heap, bytes of a page, of an object's step, of a stack's
//! ```
//! The size is put in afterwards in ten bytes, and so is longer than it has to be.

use super::error::Fault;
use super::fields::Cursor;
use super::limits::{BATCH_BYTES_MAX, FRAMES_MAX, STRING_BYTES_MAX, VALUES_MAX};
use super::names::{Frame, HeapLayout, Type};
use super::spec::{self, Spec};

const EVENT_BATCH: u8 = 1;
const EXPERIMENTAL_BATCH: u8 = 49;
const STACKS: u8 = 2;
const STACK: u8 = 3;
const TEXTS: u8 = 4;
const TEXT: u8 = 5;
const CPU_SAMPLES: u8 = 6;
const CPU_SAMPLE: u8 = 7;
const FREQUENCY: u8 = 8;
/// The experiment with allocations.
const ALLOCATIONS: u64 = 1;
const TYPES: u8 = 0;
const LAYOUT: u8 = 1;

/// The header of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    /// The experiment whose it is.
    pub(crate) experiment: Option<u64>,
    pub(crate) generation: u64,
    pub(crate) thread: u64,
    pub(crate) ticks: u64,
    /// Bytes of the header.
    pub(crate) header_bytes: usize,
    /// Bytes behind it.
    pub(crate) bytes: usize,
}

impl Header {
    /// Reads a header. [`Fault::Cut`] when more bytes are needed.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Header, Fault> {
        let mut at = Cursor::new(bytes);
        let experiment = match at.u8()? {
            EVENT_BATCH => None,
            EXPERIMENTAL_BATCH => Some(at.number()?),
            other => return Err(Fault::UnknownBatch(other)),
        };
        let (generation, thread, ticks) = (at.number()?, at.number()?, at.number()?);
        let size = at.number()?;
        if size > BATCH_BYTES_MAX as u64 {
            return Err(Fault::LargeBatch(size));
        }
        let (header_bytes, bytes) = (at.pos(), size as usize);
        Ok(Header { experiment, generation, thread, ticks, header_bytes, bytes })
    }
}

/// What a batch holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    Stacks,
    Texts,
    CpuSamples,
    Frequency,
    Types,
    Layout,
    Events,
    /// Nothing, or something of an experiment that is not known here.
    Nothing,
}

/// The kind of a batch's content, and how many bytes encode it.
pub(crate) fn content(header: &Header, bytes: &[u8]) -> (Content, usize) {
    match (header.experiment, bytes.first()) {
        (None, Some(&STACKS)) => (Content::Stacks, 1),
        (None, Some(&TEXTS)) => (Content::Texts, 1),
        (None, Some(&CPU_SAMPLES)) => (Content::CpuSamples, 1),
        (None, Some(&FREQUENCY)) => (Content::Frequency, 1),
        (None, Some(_)) => (Content::Events, 0),
        (Some(ALLOCATIONS), Some(&TYPES)) => (Content::Types, 1),
        (Some(ALLOCATIONS), Some(&LAYOUT)) => (Content::Layout, 1),
        _ => (Content::Nothing, 0),
    }
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) spec: &'static Spec,
    pub(crate) ticks: u64,
    pub(crate) values: [u64; VALUES_MAX],
    pub(crate) stack: u64,
}

/// Reads the event at the start of `bytes`; how long it is.
#[inline]
pub(crate) fn event(bytes: &[u8]) -> Result<(Event, usize), Fault> {
    let mut at = Cursor::new(bytes);
    let kind = at.u8()?;
    let spec = spec::two(kind).ok_or(Fault::UnknownEvent(kind))?;
    let ticks = at.number()?;
    let mut values = [0; VALUES_MAX];
    for value in &mut values[..spec.values.len()] {
        *value = at.number()?;
    }
    let stack = if spec.has_stack { at.number()? } else { 0 };
    Ok((Event { spec, ticks, values, stack }, at.pos()))
}

/// Reads a text at the cursor: its number and its bytes.
pub(crate) fn text<'b>(at: &mut Cursor<'b>) -> Result<(u64, &'b [u8]), Fault> {
    expect(at, TEXT)?;
    Ok((at.number()?, at.text(STRING_BYTES_MAX)?))
}

/// Reads a stack at the cursor: its number, and its frames into `frames`.
pub(crate) fn stack(at: &mut Cursor<'_>, frames: &mut Vec<Frame>) -> Result<u64, Fault> {
    expect(at, STACK)?;
    frames.clear();
    let (id, count) = (at.number()?, at.number()?);
    if count > FRAMES_MAX as u64 {
        return Err(Fault::DeepStack(count));
    }
    for _ in 0..count {
        let (pc, function) = (at.number()?, at.number()?);
        frames.push(Frame { pc, function, file: at.number()?, line: at.number()? });
    }
    Ok(id)
}

/// Passes over a sample of the processor.
pub(crate) fn cpu_sample(at: &mut Cursor<'_>) -> Result<(), Fault> {
    expect(at, CPU_SAMPLE)?;
    (0..5).try_for_each(|_| at.number().map(drop))
}

/// Reads a type at the cursor, and its number.
pub(crate) fn type_of<'b>(at: &mut Cursor<'b>) -> Result<(u64, Type<'b>), Fault> {
    let id = at.number()?;
    at.number()?;
    let (size_bytes, pointer_bytes) = (at.number()?, at.number()?);
    Ok((id, Type { name: at.text(STRING_BYTES_MAX)?, size_bytes, pointer_bytes }))
}

/// Reads how the experiment's numbers become places.
pub(crate) fn layout(at: &mut Cursor<'_>) -> Result<HeapLayout, Fault> {
    let (begin, page_bytes) = (at.number()?, at.number()?);
    let (object_align_bytes, stack_align_bytes) = (at.number()?, at.number()?);
    Ok(HeapLayout { begin, page_bytes, object_align_bytes, stack_align_bytes })
}

fn expect(at: &mut Cursor<'_>, kind: u8) -> Result<(), Fault> {
    match at.u8()? {
        found if found == kind => Ok(()),
        found => Err(Fault::UnknownEvent(found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_padded_to_ten_bytes() {
        let bytes = b"\x01\x02\x03\x04\x8c\x80\x80\x80\x80\x80\x80\x80\x80\x00rest";
        let header = Header::decode(bytes).unwrap();
        assert_eq!((header.generation, header.thread, header.ticks, header.bytes), (2, 3, 4, 12));
        assert_eq!(header.header_bytes, 14);
        for cut in 0..14 {
            assert_eq!(Header::decode(&bytes[..cut]), Err(Fault::Cut));
        }
    }

    #[test]
    fn the_first_byte_is_the_kind_of_content() {
        let header =
            |experiment| Header { experiment, generation: 1, thread: 0, ticks: 0, header_bytes: 5, bytes: 1 };
        let check = |experiment, first: &[u8], expected| {
            assert_eq!(content(&header(experiment), first).0, expected);
        };
        check(None, &[2], Content::Stacks);
        check(None, &[8], Content::Frequency);
        check(None, &[13], Content::Events);
        check(None, &[], Content::Nothing);
        check(Some(1), &[0], Content::Types);
        check(Some(1), &[1], Content::Layout);
        check(Some(7), &[1], Content::Nothing);
    }

    #[test]
    fn an_event_has_the_values_of_its_kind() {
        let (event, n) = event(&[25, 6, 1, 0xec, 0x45, 2, 99]).unwrap();
        assert_eq!((event.spec.name, event.ticks, n), ("GoStatus", 6, 6));
        assert_eq!((event.values, event.stack), ([1, 8940, 2, 0], 0));
        assert_eq!(super::event(&[50]).unwrap_err(), Fault::UnknownEvent(50));
        assert_eq!(super::event(&[25, 6, 1]).unwrap_err(), Fault::Cut);
    }
}
