//! Layout one (Go 1.11 to 1.21): a record, both ways.
//!
//! ```text
//!   record   u8: bits 0-5 kind, bits 6-7 n, then values
//!   n < 3    n + 1 values follow
//!   n = 3    a length in bytes, then values that fill it
//!   kind 37  a text: its number (not 0), its length (not 0), its bytes; n has no meaning
//!   kind 48  behind its values a text: length, bytes
//!   kind 1   batch: a P (2^64 - 1: none), its ticks; what follows happened there, up to the next batch
//!   kind 2   ticks a second        kind 35  a goroutine that runs timers
//!   kind 3   stack: number, frames, for each {address, function's text, file's text, line}
//!   others   ticks since the event before in this batch, values, stack if it has one
//! ```

use heapscribe_wire::reserve::Reserved;
use heapscribe_wire::varint;

use super::error::Fault;
use super::fields::Cursor;
use super::limits::{FRAMES_MAX, STRING_BYTES_MAX, VALUES_MAX};
use super::names::Frame;
use super::spec::{self, Spec};

const KIND_BITS: u32 = 6;
const KIND_MASK: u8 = (1 << KIND_BITS) - 1;
/// The n after which a length follows.
const WITH_LENGTH: u8 = 3;

pub(crate) const BATCH: u8 = 1;
pub(crate) const FREQUENCY: u8 = 2;
const STACK: u8 = 3;
const TIMER_GOROUTINE: u8 = 35;
const STRING: u8 = 37;
pub(crate) const USER_LOG: u8 = 48;

/// Values of an event at most, with its time and its stack.
const ALL_VALUES_MAX: usize = VALUES_MAX + 2;

/// A record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Record<'b> {
    Batch { p: u64, ticks: u64 },
    Frequency(u64),
    Stack { id: u64, frames: Frames<'b> },
    TimerGoroutine,
    Text { id: u64, text: &'b [u8] },
    Event(Event<'b>),
}

/// A record that has a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'b> {
    pub(crate) spec: &'static Spec,
    pub(crate) ticks: u64,
    pub(crate) values: [u64; VALUES_MAX],
    pub(crate) stack: u64,
    pub(crate) text: &'b [u8],
}

/// The frames of a stack record, which were checked when it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames<'b>(Cursor<'b>);

impl Iterator for Frames<'_> {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        let mut number = || self.0.number().ok();
        Some(Frame { pc: number()?, function: number()?, file: number()?, line: number()? })
    }
}

/// Reads the record at the start of `bytes`; how long it is. [`Fault::Cut`] when more bytes are needed.
#[inline]
pub(crate) fn decode(bytes: &[u8]) -> Result<(Record<'_>, usize), Fault> {
    let mut at = Cursor::new(bytes);
    let first = at.u8()?;
    let (kind, n) = (first & KIND_MASK, first >> KIND_BITS);
    let record = match kind {
        STRING => text(&mut at)?,
        STACK => stack(&mut at, n)?,
        _ => {
            let (values, count) = values(&mut at, n)?;
            match (kind, &values[..count]) {
                (BATCH, &[p, ticks]) => Record::Batch { p, ticks },
                (BATCH, _) => return Err(Fault::Values("Batch")),
                (FREQUENCY, &[frequency]) => Record::Frequency(frequency),
                (FREQUENCY, _) => return Err(Fault::Values("Frequency")),
                (TIMER_GOROUTINE, &[_]) => Record::TimerGoroutine,
                (TIMER_GOROUTINE, _) => return Err(Fault::Values("TimerGoroutine")),
                (_, values) => event(kind, values, &mut at)?,
            }
        }
    };
    Ok((record, at.pos()))
}

/// The values of a record and how many there are.
#[inline(always)]
fn values(at: &mut Cursor<'_>, n: u8) -> Result<([u64; ALL_VALUES_MAX], usize), Fault> {
    let mut values = [0; ALL_VALUES_MAX];
    if n < WITH_LENGTH {
        let count = usize::from(n) + 1;
        for value in &mut values[..count] {
            *value = at.number()?;
        }
        return Ok((values, count));
    }
    let bytes = at.number()?;
    if bytes > (ALL_VALUES_MAX * varint::MAX_BYTES) as u64 {
        return Err(Fault::Length);
    }
    let end = at.pos() + bytes as usize;
    let mut count = 0;
    while at.pos() < end {
        *values.get_mut(count).ok_or(Fault::Length)? = at.number()?;
        count += 1;
    }
    if at.pos() == end { Ok((values, count)) } else { Err(Fault::Length) }
}

#[inline(always)]
fn event<'b>(kind: u8, all: &[u64], at: &mut Cursor<'b>) -> Result<Record<'b>, Fault> {
    let spec = spec::one(kind).ok_or(Fault::UnknownEvent(kind))?;
    if all.len() != 1 + spec.values.len() + usize::from(spec.has_stack) {
        return Err(Fault::Values(spec.name));
    }
    let mut values = [0; VALUES_MAX];
    values[..spec.values.len()].copy_from_slice(&all[1..=spec.values.len()]);
    let stack = if spec.has_stack { all[all.len() - 1] } else { 0 };
    let text = if kind == USER_LOG { at.text(STRING_BYTES_MAX)? } else { &[] };
    Ok(Record::Event(Event { spec, ticks: all[0], values, stack, text }))
}

fn text<'b>(at: &mut Cursor<'b>) -> Result<Record<'b>, Fault> {
    let id = at.number()?;
    if id == 0 {
        return Err(Fault::StringId(0));
    }
    let text = at.text(STRING_BYTES_MAX)?;
    if text.is_empty() { Err(Fault::StringLength(0)) } else { Ok(Record::Text { id, text }) }
}

fn stack<'b>(at: &mut Cursor<'b>, n: u8) -> Result<Record<'b>, Fault> {
    // A stack of no frames has two values and needs no length.
    if n < WITH_LENGTH {
        let (id, frames) = (at.number()?, if n > 0 { at.number()? } else { 0 });
        let none = Record::Stack { id, frames: Frames(Cursor::new(&[])) };
        return if n == 1 && frames == 0 { Ok(none) } else { Err(Fault::Values("Stack")) };
    }
    let bytes = at.number()?;
    if bytes > ((2 + 4 * FRAMES_MAX) * varint::MAX_BYTES) as u64 {
        return Err(Fault::Length);
    }
    let mut body = Cursor::new(at.take(bytes as usize)?);
    let inside = |fault| if fault == Fault::Cut { Fault::Length } else { fault };
    let id = body.number().map_err(inside)?;
    let frames = body.number().map_err(inside)?;
    if frames > FRAMES_MAX as u64 {
        return Err(Fault::DeepStack(frames));
    }
    let of_frames = Frames(body);
    for _ in 0..4 * frames {
        body.number().map_err(inside)?;
    }
    if body.is_empty() { Ok(Record::Stack { id, frames: of_frames }) } else { Err(Fault::Values("Stack")) }
}

/// Writes a batch's begin, the frequency or an event: `values` are all of its values, with the time before
/// and the stack behind. `None` when `at` may be too short.
pub(crate) fn encode(at: &mut [u8], kind: u8, values: &[u64]) -> Option<usize> {
    at.get(..2 + values.len() * varint::MAX_BYTES)?;
    let few = (1..=usize::from(WITH_LENGTH)).contains(&values.len());
    let n = if few { values.len() as u8 - 1 } else { WITH_LENGTH };
    at[0] = kind | n << KIND_BITS;
    let mut len = 1;
    // The values of all kinds that have a length take fewer bytes than one byte can count.
    let length = if few { None } else { Some(Reserved::<1>::new(at, &mut len)?) };
    for value in values {
        len += varint::put(&mut at[len..], *value);
    }
    if let Some(length) = length {
        length.close(at, len)?;
    }
    Some(len)
}

/// Writes a text; `None` when `at` is too short or the text none.
pub(crate) fn encode_text(at: &mut [u8], id: u64, text: &[u8]) -> Option<usize> {
    at.get(..1 + 2 * varint::MAX_BYTES + text.len())?;
    if id == 0 || text.is_empty() || text.len() > STRING_BYTES_MAX {
        return None;
    }
    at[0] = STRING;
    let mut len = 1;
    len += varint::put(&mut at[len..], id);
    len += varint::put(&mut at[len..], text.len() as u64);
    at.get_mut(len..len + text.len())?.copy_from_slice(text);
    Some(len + text.len())
}

/// Writes a stack in its place: its length is left open and put in when the frames are there. `None` when
/// `at` is shorter than [`super::limits::stack_bytes_max`].
pub(crate) fn encode_stack(at: &mut [u8], id: u64, frames: &[Frame]) -> Option<usize> {
    at.get(..super::limits::stack_bytes_max(frames.len()))?;
    at[0] = STACK | WITH_LENGTH << KIND_BITS;
    let mut len = 1;
    let length = Reserved::<{ varint::MAX_BYTES }>::new(at, &mut len)?;
    len += varint::put(&mut at[len..], id);
    len += varint::put(&mut at[len..], frames.len() as u64);
    for frame in frames {
        for value in [frame.pc, frame.function, frame.file, frame.line] {
            len += varint::put(&mut at[len..], value);
        }
    }
    length.close(at, len)?;
    Some(len)
}
