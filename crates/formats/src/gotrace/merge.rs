//! The second pass: all runs of batches as one row of events, by time. Only batches that are being read are
//! in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::ControlFlow;

use super::error::{Fault, GoTraceError, Malformed};
use super::event::{Event, Read};
use super::index::{Batch, Index, Run};
use super::layout_go1_11::{self, Record};
use super::layout_go1_22;
use super::limits::RECORD_BYTES_MAX;
use super::version::Layout;
use super::window::Window;
use crate::source::Source;

/// A run on its way.
#[derive(Debug)]
struct Reading<'i> {
    run: &'i Run,
    /// The batch after the one that is read.
    next: usize,
    generation: u32,
    window: Window,
    ticks: u64,
    event: Option<Read>,
}

pub(crate) struct Merge<'i, S: ?Sized> {
    source: &'i S,
    layout: Layout,
    runs: Vec<Reading<'i>>,
    /// When the next event of each run is, and since when it has waited.
    order: BinaryHeap<Reverse<(u64, u64, usize)>>,
    turn: u64,
}

impl<'i, S: Source + ?Sized> Merge<'i, S> {
    pub(crate) fn new(source: &'i S, index: &'i Index, layout: Layout) -> Self {
        let reading =
            |run| Reading { run, next: 0, generation: 0, window: Window::default(), ticks: 0, event: None };
        let runs: Vec<_> = index.runs.iter().map(reading).collect();
        let first = |(n, run): (usize, &Reading<'_>)| {
            run.run.batches.first().map(|batch| Reverse((batch.first_ticks, n as u64, n)))
        };
        let order = runs.iter().enumerate().filter_map(first).collect();
        Merge { source, layout, turn: runs.len() as u64, runs, order }
    }

    #[inline]
    pub(crate) fn for_each<B>(
        mut self,
        mut visit: impl FnMut(&Event<'_>) -> ControlFlow<B>,
    ) -> Result<Option<B>, GoTraceError> {
        while let Some(mut top) = self.order.peek_mut() {
            let Some(reading) = self.runs.get_mut(top.0.2) else { break };
            if reading.event.is_none() {
                reading.read(self.source, self.layout)?;
            }
            if let Some(read) = reading.event.take()
                && let ControlFlow::Break(why) = visit(&reading.event_of(&read))
            {
                return Ok(Some(why));
            }
            match reading.when(self.source, self.layout)? {
                Some(ticks) => {
                    (top.0.0, top.0.1) = (ticks, self.turn);
                    self.turn += 1;
                }
                None => {
                    PeekMut::pop(top);
                }
            }
        }
        Ok(None)
    }
}

impl Reading<'_> {
    fn event_of<'e>(&'e self, read: &'e Read) -> Event<'e> {
        let (begin, len) = read.text;
        Event {
            ticks: read.ticks,
            lane: self.run.lane,
            generation: self.generation,
            offset: read.offset,
            spec: read.spec,
            values: &read.values[..read.spec.values.len()],
            stack: read.stack,
            text: self.window.piece(begin, len),
        }
    }

    /// When the next event is. That of a batch is known without reading it, so that it is read only when it
    /// is its turn.
    #[inline(always)]
    fn when<S: Source + ?Sized>(&mut self, source: &S, layout: Layout) -> Result<Option<u64>, GoTraceError> {
        if self.window.is_done() {
            self.window = Window::default();
            return Ok(self.run.batches.get(self.next).map(|batch| batch.first_ticks));
        }
        self.read(source, layout)?;
        Ok(self.event.as_ref().map(|event| event.ticks))
    }

    /// Reads the next event, of the next batch when this one is at its end.
    #[inline(always)]
    fn read<S: Source + ?Sized>(&mut self, source: &S, layout: Layout) -> Result<(), GoTraceError> {
        if self.window.is_done() {
            let Some(batch) = self.run.batches.get(self.next) else { return Ok(()) };
            self.begin(batch);
        }
        while !self.window.is_done() {
            let offset = self.window.offset();
            let (read, n) = match layout {
                Layout::One => self.window.next(source, RECORD_BYTES_MAX, of_one)?,
                Layout::Two => self.window.next(source, RECORD_BYTES_MAX, of_two)?,
            }
            .map_err(|fault| changed(offset, fault))?;
            let at = self.window.at();
            self.window.skip(n);
            if let Some(read) = read {
                self.ticks = self.ticks.checked_add(read.ticks).ok_or(changed(offset, Fault::Time))?;
                let text = (at + read.text.0, read.text.1);
                self.event = Some(Read { ticks: self.ticks, offset, text, ..read });
                break;
            }
        }
        Ok(())
    }

    fn begin(&mut self, batch: &Batch) {
        self.next += 1;
        self.window = Window::new(batch.begin, batch.end);
        self.ticks = batch.base_ticks;
        self.generation = batch.generation;
    }
}

/// What could be read once cannot be read again: the file has changed meanwhile.
fn changed(offset: u64, fault: Fault) -> GoTraceError {
    GoTraceError::Malformed(Malformed { offset, fault })
}

#[inline(always)]
fn of_one(bytes: &[u8]) -> Result<(Option<Read>, usize), Fault> {
    let (record, n) = layout_go1_11::decode(bytes)?;
    let Record::Event(layout_go1_11::Event { spec, ticks, values, stack, text }) = record else {
        return Ok((None, n));
    };
    Ok((Some(Read { spec, ticks, offset: 0, values, stack, text: (n - text.len(), text.len()) }), n))
}

#[inline(always)]
fn of_two(bytes: &[u8]) -> Result<(Option<Read>, usize), Fault> {
    let (layout_go1_22::Event { spec, ticks, values, stack }, n) = layout_go1_22::event(bytes)?;
    Ok((Some(Read { spec, ticks, offset: 0, values, stack, text: (0, 0) }), n))
}
