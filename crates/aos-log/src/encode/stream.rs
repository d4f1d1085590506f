//! What codecs of streams have in common: a record is written to a stage, the codec takes it from there, and
//! what it gives goes to the output. When the output is full the rest waits on the stage.
//!
//! A codec keeps what it has taken for as long as it likes, megabytes of it: a program that was killed left files of
//! 0 bytes. So there is no space after [`FLUSH_BYTES`] until the codec was flushed.

use super::buffer::Buffer;
use super::encoder::{EncodeError, FLUSH_BYTES};
use crate::layout::ALIGNMENT;
use crate::pack::Record;

/// Bytes of a record that are given to the codec at once.
const STAGE_BYTES: usize = 64 << 10;

/// The progress of a codec.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Step {
    /// Bytes that it took.
    pub(super) taken: usize,
    /// Bytes that it gave.
    pub(super) given: usize,
    /// Whether a flush or the end is complete.
    pub(super) is_done: bool,
}

/// How far a codec goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Until {
    /// The input is consumed.
    Consumed,
    /// Also, all that was taken is in the output.
    Flushed,
    /// Also, the stream has ended.
    Ended,
}

/// A codec of a stream, in memory of its own.
pub(super) trait Codec {
    /// Goes on as far as input and output allow.
    fn step(&mut self, input: &[u8], output: &mut [u8], until: Until) -> Result<Step, EncodeError>;

    /// Begins another stream.
    fn restart(&mut self) -> Result<(), EncodeError>;
}

/// Stage, codec and output.
#[derive(Debug)]
pub(super) struct Stream<C> {
    pub(super) codec: C,
    stage: Buffer,
    taken: usize,
    /// Bytes of records since the codec was flushed.
    pub(super) held_bytes: usize,
    pub(super) output: Buffer,
}

impl<C: Codec> Stream<C> {
    pub(super) fn new(codec: C) -> Self {
        Self {
            codec,
            stage: Buffer::new(STAGE_BYTES),
            taken: 0,
            held_bytes: 0,
            output: Buffer::new(FLUSH_BYTES),
        }
    }

    /// Lets the codec take all memory that it will take: a whole stream, more of it than the output holds
    /// for bytes that do not compress, and the beginning of another.
    pub(super) fn rehearse(&mut self) -> Result<(), EncodeError> {
        for _ in 0..2 {
            let mut input = [0; 4096];
            for round in 0..32u32 {
                for (i, byte) in input.iter_mut().enumerate() {
                    *byte = (i as u32 ^ round).wrapping_mul(0x9e37_79b9).to_be_bytes()[0];
                }
                let mut rest = &input[..];
                while !rest.is_empty() {
                    rest = &rest[self.codec.step(rest, self.output.free(), Until::Consumed)?.taken..];
                }
            }
            for until in [Until::Flushed, Until::Ended] {
                while !self.codec.step(&[], self.output.free(), until)?.is_done {}
            }
            self.codec.restart()?;
        }
        Ok(())
    }

    pub(super) fn has_space(&self, bytes: usize) -> bool {
        self.stage.filled == 0 && self.held_bytes < FLUSH_BYTES && bytes <= STAGE_BYTES
    }

    pub(super) fn encode(&mut self, record: &mut dyn Record, start: usize) -> Result<usize, EncodeError> {
        let mut at = start;
        while at < record.size() && self.drain_stage()? {
            let bytes = (record.size() - at).min(STAGE_BYTES);
            debug_assert!(bytes.is_multiple_of(ALIGNMENT));
            record.write(&mut self.stage.free()[..bytes], at);
            self.stage.fill(bytes);
            self.held_bytes += bytes;
            at += bytes;
        }
        self.drain_stage()?;
        Ok(at - start)
    }

    /// Hands the stage to the codec; false when the output is full before it is empty.
    fn drain_stage(&mut self) -> Result<bool, EncodeError> {
        while self.taken < self.stage.filled {
            if self.output.free_bytes() == 0 {
                return Ok(false);
            }
            let step =
                self.codec.step(&self.stage.filled()[self.taken..], self.output.free(), Until::Consumed)?;
            self.taken += step.taken;
            self.output.fill(step.given);
        }
        self.stage.clear();
        self.taken = 0;
        Ok(true)
    }

    pub(super) fn flush(&mut self) -> Result<bool, EncodeError> {
        let is_done = self.held_bytes == 0 || self.step_until(Until::Flushed)?;
        if is_done {
            self.held_bytes = 0;
        }
        Ok(is_done)
    }

    pub(super) fn finish(&mut self) -> Result<bool, EncodeError> {
        self.step_until(Until::Ended)
    }

    /// Goes on without further input; false when the output is full before it is done.
    fn step_until(&mut self, until: Until) -> Result<bool, EncodeError> {
        while self.drain_stage()? && self.output.free_bytes() > 0 {
            let step = self.codec.step(&[], self.output.free(), until)?;
            self.output.fill(step.given);
            if step.is_done {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn restart(&mut self) -> Result<(), EncodeError> {
        self.stage.restart();
        (self.taken, self.held_bytes) = (0, 0);
        self.output.restart();
        self.codec.restart()
    }
}
