//! Records into an encoder, and what it has ready into files: when its buffer is full, when enough waits, or
//! when something has waited long enough. The first error is final: nothing is written after it, so that a
//! log never has a hole in its middle.

use std::io;

use super::clock::Clock;
use super::error::WriteError;
use super::sink::{Sink, is_out_of_space};
use super::statistics::WriterStatistics;
use crate::encode::{EncodeError, Encoder};
use crate::layout::ALIGNMENT;
use crate::pack::Record;

/// When records are written. An encoder adds a rule of its own: those of a stream are written after [`FLUSH_BYTES`] of
/// records at the latest, those of snappy at the end of a chunk. This bounds what is lost when the program is killed.
///
/// [`FLUSH_BYTES`]: crate::encode::FLUSH_BYTES
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlushRules {
    /// As soon as more than so many encoded bytes are ready.
    pub bytes: usize,
    /// When something was not written and so many nanoseconds have passed since the last flush. A codec is flushed, too.
    pub period_ns: i64,
}

/// AOS's own: 128 KiB and 5 s.
impl Default for FlushRules {
    fn default() -> Self {
        Self { bytes: crate::encode::FLUSH_BYTES, period_ns: 5_000_000_000 }
    }
}

/// The times of writing a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct PutTimes {
    /// When its first slice had been copied, by the monotonic clock.
    pub(super) copied_ns: i64,
    /// Nanoseconds in the encoder.
    pub(super) encode_ns: i64,
}

/// A record that reads the clock when its first slice has been copied: within the copy, so that neither
/// compression nor writing is in that time.
struct Timed<'a, C> {
    record: &'a mut dyn Record,
    clock: &'a C,
    copied_ns: Option<i64>,
}

impl<C: Clock> Record for Timed<'_, C> {
    fn size(&self) -> usize {
        self.record.size()
    }

    fn write(&mut self, destination: &mut [u8], start: usize) {
        self.record.write(destination, start);
        if self.copied_ns.is_none() {
            self.copied_ns = Some(self.clock.monotonic_ns());
        }
    }
}

/// An encoder and where its bytes go.
pub(super) struct Output<C: Clock> {
    encoder: Box<dyn Encoder>,
    sink: Box<dyn Sink>,
    pub(super) clock: C,
    rules: FlushRules,
    last_flush: Option<i64>,
    error: Option<WriteError>,
    is_open: bool,
    is_restart_due: bool,
    pub(super) statistics: WriterStatistics,
}

impl<C: Clock> Output<C> {
    pub(super) fn new(encoder: Box<dyn Encoder>, sink: Box<dyn Sink>, clock: C, rules: FlushRules) -> Self {
        Self {
            encoder,
            sink,
            clock,
            rules,
            last_flush: None,
            error: None,
            is_open: false,
            is_restart_due: false,
            statistics: WriterStatistics::default(),
        }
    }

    pub(super) fn error(&self) -> Option<WriteError> {
        self.error
    }

    /// Bytes of the part that is open, those that wait to be written included.
    pub(super) fn part_bytes(&self) -> u64 {
        self.encoder.total_bytes()
    }

    /// Begins a part.
    pub(super) fn open(&mut self, part_index: i32) -> Result<(), WriteError> {
        self.check()?;
        if self.is_restart_due {
            let restarted = self.encoder.restart();
            self.record_encode_error(restarted)?;
        }
        self.is_restart_due = true;
        let opened = self.sink.open(part_index, self.encoder.extension());
        self.record_error(opened)?;
        self.is_open = true;
        self.statistics.parts += 1;
        Ok(())
    }

    /// Encodes a whole record.
    pub(super) fn put(&mut self, record: &mut dyn Record, start_ns: i64) -> Result<PutTimes, WriteError> {
        self.check()?;
        let size = record.size();
        let mut took = PutTimes { copied_ns: start_ns, encode_ns: 0 };
        let (mut at, mut from) = (0, start_ns);
        loop {
            let mut timed = Timed { record: &mut *record, clock: &self.clock, copied_ns: None };
            let taken = self.encoder.encode(&mut timed, at);
            let copied = timed.copied_ns;
            let taken = self.record_encode_error(taken)?;
            if at == 0 && taken > 0 {
                took.copied_ns = copied.unwrap_or(start_ns);
            }
            at += taken;
            took.encode_ns += self.clock.monotonic_ns() - from;
            if at == size {
                break;
            }
            if taken == 0 && self.encoder.queue().is_empty() {
                let stuck = EncodeError { codec: "an encoder that neither takes nor gives", code: 0 };
                return self.record_encode_error(Err(stuck));
            }
            self.write_queue()?;
            from = self.clock.monotonic_ns();
        }
        Ok(took)
    }

    /// Writes what was not written if it is time to.
    pub(super) fn flush_if_due(&mut self, now: i64) -> Result<(), WriteError> {
        self.check()?;
        let queued = self.encoder.queue().len();
        let last = *self.last_flush.get_or_insert(now);
        let is_late = now > last.saturating_add(self.rules.period_ns);
        let is_something_due = is_late && queued + self.encoder.held_bytes() > 0;
        if is_something_due || !self.encoder.has_space(ALIGNMENT) {
            self.last_flush = Some(now);
            self.flush()?;
        } else if queued > self.rules.bytes {
            self.last_flush = Some(now);
            self.write_queue()?;
        }
        Ok(())
    }

    /// Writes everything that was encoded.
    pub(super) fn flush(&mut self) -> Result<(), WriteError> {
        self.drain(|encoder| encoder.flush())
    }

    /// Writes what the encoder gives, until it has no more.
    fn drain(
        &mut self,
        give: impl Fn(&mut dyn Encoder) -> Result<bool, EncodeError>,
    ) -> Result<(), WriteError> {
        let mut is_done = false;
        while !is_done {
            self.check()?;
            let before = self.clock.monotonic_ns();
            let given = give(&mut *self.encoder);
            is_done = self.record_encode_error(given)?;
            let took = self.clock.monotonic_ns() - before;
            self.statistics.encode.add(took, 0, 0);
            self.write_queue()?;
        }
        Ok(())
    }

    /// Writes what is ready.
    fn write_queue(&mut self) -> Result<(), WriteError> {
        self.check()?;
        let bytes = self.encoder.queue();
        if bytes.is_empty() {
            return Ok(());
        }
        let before = self.clock.monotonic_ns();
        let written = self.sink.write(bytes);
        let took = self.clock.monotonic_ns() - before;
        let all = bytes.len();
        self.encoder.clear();
        let written = self.record_error(written)?;
        self.statistics.write.add(took, written as u64, 0);
        if written < all {
            return Err(*self.error.insert(WriteError::OutOfSpace));
        }
        Ok(())
    }

    /// Ends the part, if one is open.
    pub(super) fn close(&mut self) -> Result<(), WriteError> {
        if !self.is_open {
            return self.check();
        }
        self.is_open = false;
        let finished = self.drain(|encoder| encoder.finish());
        let closed = self.sink.close();
        finished?;
        self.record_error(closed)
    }

    fn check(&self) -> Result<(), WriteError> {
        self.error.map_or(Ok(()), Err)
    }

    fn record_error<T>(&mut self, result: io::Result<T>) -> Result<T, WriteError> {
        result.map_err(|e| {
            let error = if is_out_of_space(&e) {
                WriteError::OutOfSpace
            } else {
                WriteError::Io(e.kind(), e.raw_os_error())
            };
            *self.error.insert(error)
        })
    }

    fn record_encode_error<T>(&mut self, result: Result<T, EncodeError>) -> Result<T, WriteError> {
        result.map_err(|e| *self.error.insert(WriteError::Encode(e)))
    }
}

/// Closes the open part and ignores errors; call [`Output::close`] to see them.
impl<C: Clock> Drop for Output<C> {
    fn drop(&mut self) {
        if self.error.is_none() {
            let _ = self.close();
        }
    }
}
