//! The first pass: from the bytes to the [`Index`]. Damage ends it in layout one, where the length of a damaged
//! record is unknown; in layout two it costs the rest of its batch.

use super::error::{Fault, GoTraceError};
use super::fields::Cursor;
use super::index::{Index, OpenBatch};
use super::layout_go1_11::{self, Record};
use super::layout_go1_22::{self, Content, Header};
use super::limits::{BATCH_BYTES_MAX, RECORD_BYTES_MAX};
use super::version::HEADER_BYTES;
use super::window::Window;
use crate::source::Source;

/// Reads a file of layout one.
pub(crate) fn one<S: Source + ?Sized>(source: &S) -> Result<Index, GoTraceError> {
    let mut index = Index::default();
    let generation = index.generation(0);
    let mut window = Window::new(HEADER_BYTES as u64, source.len());
    let mut open = OpenBatch::new(0, generation, window.offset(), 0);
    let mut fault = None;
    while !window.is_done() && fault.is_none() {
        let begin = window.offset();
        let taken = window.next(source, RECORD_BYTES_MAX, |bytes| {
            let (record, n) = layout_go1_11::decode(bytes)?;
            record_of_one(&mut index, &mut open, begin + n as u64, &record)?;
            Ok(n)
        })?;
        match taken {
            Ok(n) => window.skip(n),
            Err(Fault::StringId(id)) if id != 0 => {
                index.problem(begin, Fault::StringId(id));
                fault = skip_record(&mut window);
            }
            Err(bad) => {
                index.problem(begin, bad);
                fault = Some(bad);
            }
        }
    }
    index.batch(open);
    if index.frequency().is_none() && fault.is_none() {
        index.problem(source.len(), Fault::NoFrequency);
    }
    index.report_missing_stacks(source.len());
    Ok(index)
}

/// Skips a record that is valid in itself.
fn skip_record(window: &mut Window) -> Option<Fault> {
    match layout_go1_11::decode(window.rest()) {
        Ok((_, n)) => {
            window.skip(n);
            None
        }
        Err(fault) => Some(fault),
    }
}

#[inline(always)]
fn record_of_one(
    index: &mut Index,
    open: &mut OpenBatch,
    end: u64,
    record: &Record<'_>,
) -> Result<(), Fault> {
    match *record {
        Record::Event(event) => {
            index.use_stack(0, event.stack);
            open.event(event.spec.code, event.ticks, end)
        }
        Record::Batch { p, ticks } => {
            index.batch(std::mem::replace(open, OpenBatch::new(p, 0, end, ticks)));
            Ok(())
        }
        Record::Text { id, text } => index.text(0, id, text),
        Record::Stack { id, frames } => {
            index.names.add_stack(0, id, frames);
            Ok(())
        }
        Record::Frequency(frequency) => index.set_frequency(0, frequency),
        Record::TimerGoroutine => Ok(()),
    }
}

/// Reads a file of layout two.
pub(crate) fn two<S: Source + ?Sized>(source: &S) -> Result<Index, GoTraceError> {
    let mut index = Index::default();
    let mut window = Window::new(HEADER_BYTES as u64, source.len());
    while !window.is_done() {
        let begin = window.offset();
        let header = match window.next(source, BATCH_BYTES_MAX, Header::decode)? {
            Ok(header) => header,
            Err(fault) => {
                index.problem(begin, fault);
                break;
            }
        };
        window.skip(header.header_bytes);
        let from = window.offset();
        let taken = window.next(source, 2 * BATCH_BYTES_MAX, |bytes| {
            let content = bytes.get(..header.bytes).ok_or(Fault::Cut)?;
            batch_of_two(&mut index, &header, from, content);
            Ok(())
        })?;
        match taken {
            Ok(()) => window.skip(header.bytes),
            // The file ends within the batch: what of it is there is read.
            Err(_) => {
                let before = index.problems.len();
                batch_of_two(&mut index, &header, from, window.rest());
                if index.problems.len() == before {
                    index.problem(begin, Fault::Cut);
                }
                break;
            }
        }
    }
    report_unfinished(&mut index, source.len());
    Ok(index)
}

/// A generation without a clock or without texts was not finished.
fn report_unfinished(index: &mut Index, end: u64) {
    let is_unfinished = index.generations.iter().any(|g| g.frequency.is_none() || g.texts == 0);
    if is_unfinished || index.generations.is_empty() {
        index.problem(end, Fault::NoFrequency);
    }
    index.report_missing_stacks(end);
}

fn batch_of_two(index: &mut Index, header: &Header, begin: u64, bytes: &[u8]) {
    let generation = index.generation(header.generation);
    let (content, skipped) = layout_go1_22::content(header, bytes);
    let mut at = Cursor::new(bytes.get(skipped..).unwrap_or_default());
    let mut frames = Vec::new();
    let mut open = OpenBatch::new(header.thread, generation, begin, header.ticks);
    while !at.is_empty() && content != Content::Nothing {
        let from = begin + (skipped + at.pos()) as u64;
        let taken = match content {
            Content::Stacks => layout_go1_22::stack(&mut at, &mut frames)
                .map(|id| index.names.add_stack(generation, id, frames.iter().copied())),
            Content::Texts => {
                layout_go1_22::text(&mut at).and_then(|(id, text)| index.text(generation, id, text))
            }
            Content::CpuSamples => layout_go1_22::cpu_sample(&mut at).map(|()| index.cpu_samples += 1),
            Content::Frequency => at.number().and_then(|n| index.set_frequency(generation, n)),
            Content::Types => {
                layout_go1_22::type_of(&mut at).map(|(id, of)| index.names.add_type(generation, id, &of))
            }
            Content::Layout => layout_go1_22::layout(&mut at).map(|layout| index.names.set_layout(layout)),
            Content::Events | Content::Nothing => {
                event_of_two(&mut open, &mut at, begin, bytes).map(|stack| index.use_stack(generation, stack))
            }
        };
        if let Err(fault) = taken {
            index.problem(from, fault);
            // A number that is taken twice leaves the rest of the texts readable.
            if !matches!(fault, Fault::StringId(_)) {
                break;
            }
        }
    }
    index.batch(open);
}

/// Takes an event; the number of its stack.
#[inline(always)]
fn event_of_two(open: &mut OpenBatch, at: &mut Cursor<'_>, begin: u64, bytes: &[u8]) -> Result<u64, Fault> {
    let (event, n) = layout_go1_22::event(&bytes[at.pos()..])?;
    at.take(n)?;
    open.event(event.spec.code, event.ticks, begin + at.pos() as u64)?;
    Ok(event.stack)
}
