//! Reads a Go trace: what it is, what its numbers mean, and its events in the order of time.

use std::ops::ControlFlow;

use super::error::{GoTraceError, Malformed};
use super::event::Event;
use super::index::{Generation, Index};
use super::merge::Merge;
use super::names::{HeapLayout, NamedFrame, Type};
use super::version::{HEADER_BYTES, Layout, Version};
use super::{header, scan};
use crate::source::{Source, read_up_to};

/// A file. It takes memory for the names and stacks in it, for 40 bytes of each batch (64 KiB in a file of
/// Go's), and while it is read for 64 KiB of each lane.
#[derive(Debug)]
pub struct Trace<S> {
    source: S,
    version: Version,
    index: Index,
}

impl<S: Source> Trace<S> {
    /// Opens a file and reads through it once. Invalid bytes in it are among the
    /// [problems](Trace::problems).
    ///
    /// # Errors
    /// When the bytes cannot be read, or are no Go trace of a version that is known.
    pub fn open(source: S) -> Result<Trace<S>, GoTraceError> {
        let mut bytes = [0; HEADER_BYTES];
        let read =
            read_up_to(&source, 0, &mut bytes).map_err(|error| GoTraceError::Io { offset: 0, error })?;
        let version = header::decode(&bytes[..read])
            .map_err(|fault| GoTraceError::Malformed(Malformed { offset: 0, fault }))?;
        let index = match version.layout() {
            Layout::One => scan::one(&source)?,
            Layout::Two => scan::two(&source)?,
        };
        Ok(Trace { source, version, index })
    }

    /// Which Go it is of.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Ticks a second; `None` when the file ends before that.
    pub fn frequency(&self) -> Option<u64> {
        self.index.frequency()
    }

    /// When the first and the last event were, in ticks; `None` without events.
    pub fn ticks(&self) -> Option<(u64, u64)> {
        self.index.ticks
    }

    /// How many events there are.
    pub fn events(&self) -> u64 {
        self.index.events
    }

    /// How many of them are of single objects and spans, by Go's experiment.
    pub fn heap_events(&self) -> u64 {
        self.index.heap_events
    }

    /// Samples of the processor of layout two, which are not among the events.
    pub fn cpu_samples(&self) -> u64 {
        self.index.cpu_samples
    }

    /// The generations, in the order of the file.
    pub fn generations(&self) -> &[Generation] {
        &self.index.generations
    }

    /// How many texts and stacks there are.
    pub fn names(&self) -> (usize, usize) {
        (self.index.names.texts(), self.index.names.stacks())
    }

    /// The first 1000 problems.
    pub fn problems(&self) -> &[Malformed] {
        &self.index.problems
    }

    /// How many more there are than [`Self::problems`] has.
    pub fn problems_more(&self) -> u64 {
        self.index.problems_more
    }

    /// A moment in ns since the first event, computed as Go does. Ticks when their length is not known.
    pub fn ns(&self, ticks: u64) -> u64 {
        let since = ticks.saturating_sub(self.ticks().map_or(0, |(first, _)| first));
        match self.frequency() {
            Some(frequency) => (since as f64 * (1e9 / frequency as f64)) as u64,
            None => since,
        }
    }

    /// A text of a generation.
    pub fn text(&self, generation: u32, id: u64) -> Option<&[u8]> {
        self.index.names.text(generation, id)
    }

    /// A stack of a generation, the innermost frame first; `None` when it is not in the file.
    pub fn stack(&self, generation: u32, id: u64) -> Option<impl ExactSizeIterator<Item = NamedFrame<'_>>> {
        let names = &self.index.names;
        let text = move |id| names.text(generation, id).unwrap_or_default();
        let frames = names.frames(generation, id)?;
        Some(frames.iter().map(move |frame| NamedFrame {
            pc: frame.pc,
            function: text(frame.function),
            file: text(frame.file),
            line: frame.line,
        }))
    }

    /// All stacks: generation and number, in order.
    pub fn stack_ids(&self) -> Vec<(u32, u64)> {
        self.index.names.stack_ids()
    }

    /// A type of the experiment.
    pub fn type_of(&self, generation: u32, id: u64) -> Option<Type<'_>> {
        self.index.names.type_of(generation, id)
    }

    /// How the experiment's numbers become places.
    pub fn layout(&self) -> Option<HeapLayout> {
        self.index.names.layout()
    }

    /// Why the world was stopped, by the value of a `StopBegin` of that generation.
    pub fn stop_reason(&self, generation: u32, reason: u64) -> String {
        if self.version.layout() == Layout::Two {
            let text = self.text(generation, reason);
            return text
                .map_or_else(|| "unknown".to_owned(), |text| String::from_utf8_lossy(text).into_owned());
        }
        let reasons = if self.version.minor < 21 { &STOP_REASONS_OLD[..] } else { &STOP_REASONS[..] };
        let reason = usize::try_from(reason).ok().and_then(|n| reasons.get(n));
        (*reason.unwrap_or(&"unknown")).to_owned()
    }

    /// Calls `visit` with all events in the order of time, until it breaks; returns what it broke with. Of events
    /// at one time in several lanes the first is that of the lane that has waited longest.
    ///
    /// # Errors
    /// When bytes cannot be read, or are not what they were when the file was opened.
    #[inline]
    pub fn for_each<B>(
        &self,
        visit: impl FnMut(&Event<'_>) -> ControlFlow<B>,
    ) -> Result<Option<B>, GoTraceError> {
        Merge::new(&self.source, &self.index, self.version.layout()).for_each(visit)
    }
}

/// Why the world was stopped, up to Go 1.20.
const STOP_REASONS_OLD: [&str; 2] = ["GC mark termination", "GC sweep termination"];
/// The same in Go 1.21.
const STOP_REASONS: [&str; 17] = [
    "unknown",
    "GC mark termination",
    "GC sweep termination",
    "write heap dump",
    "goroutine profile",
    "goroutine profile cleanup",
    "all goroutines stack trace",
    "read mem stats",
    "AllThreadsSyscall",
    "GOMAXPROCS",
    "start trace",
    "stop trace",
    "CountPagesInUse (test)",
    "ReadMetricsSlow (test)",
    "ReadMemStatsSlow (test)",
    "PageCachePagesLeaked (test)",
    "ResetDebugLog (test)",
];
