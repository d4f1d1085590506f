//! From bytes to events, whatever the bytes are.

use super::event::{Block, Event};
use super::latency;
use super::mapping::{MAPPING, Mapping};
use super::note::{self, Note};
use super::short_read::{self, ShortEvent};
use super::tag::{ALLOC, FAILED, FREE, NOTE, OTHER_THREAD, RATE, REALLOC, UNKNOWN};
use crate::call::Call;
use crate::ids::{NameId, RateId, StackId, ThreadId};
use crate::limits::RATES_MAX;
use crate::varint;

/// Bytes that are no event: at which offset of the slice, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadEvent {
    /// Offset of the event in the bytes given.
    pub offset: usize,
    /// What is wrong with it.
    pub why: &'static str,
}

impl core::fmt::Display for BadEvent {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} at byte {} of the events", self.why, self.offset)
    }
}

impl core::error::Error for BadEvent {}

/// Reads the events of a chunk's payload, in order: each with the ticks since the one before it.
/// After an error it ends.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Events<'a> {
    /// Over the committed bytes of a payload.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Events { bytes, offset: 0 }
    }

    /// Where the next event starts.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The next event, if it is one of those that nearly all are; else none is read.
    #[inline(always)]
    pub fn next_short(&mut self) -> Option<ShortEvent> {
        let (event, len) = short_read::get(self.bytes.get(self.offset..)?.first_chunk()?)?;
        self.offset += len;
        Some(event)
    }

    #[inline(always)]
    fn field(&self, at: &mut usize) -> Result<u64, &'static str> {
        let (value, n) =
            varint::get(self.bytes.get(*at..).unwrap_or_default()).ok_or("cut or overlong number")?;
        *at += n;
        Ok(value)
    }

    #[inline(always)]
    fn small(&self, at: &mut usize) -> Result<u32, &'static str> {
        u32::try_from(self.field(at)?).map_err(|_| "number over 32 bits")
    }

    #[inline(always)]
    fn block(&self, at: &mut usize, other_thread: bool) -> Result<Block, &'static str> {
        Ok(Block {
            age_ticks: Block::age(self.field(at)?),
            size_bytes: self.field(at)?,
            stack: StackId(self.small(at)?),
            birth_thread: if other_thread { Some(ThreadId(self.small(at)?)) } else { None },
        })
    }

    /// The tag is that of a note, which is seldom.
    #[cold]
    fn note(&self, tag: u8, at: &mut usize) -> Result<Event, &'static str> {
        if tag >> 3 == note::LOST {
            return Ok(Event::Lost { count: self.field(at)?, reason: self.small(at)?.min(255) as u8 });
        }
        if tag >> 3 == MAPPING {
            return Mapping::read(|| self.field(at)).map(Event::Mapping);
        }
        let mut note = Note::from_bits(tag >> 3).ok_or("unknown kind of note")?;
        let name = NameId(self.small(at)?);
        if let Note::GoesOn { age_ticks } = &mut note {
            *age_ticks = self.field(at)?;
        }
        Ok(Event::Note { note, name })
    }

    #[inline(always)]
    fn decode(&mut self) -> Result<(u64, Event), &'static str> {
        let tag = self.bytes[self.offset];
        let mut at = self.offset + 1;
        if tag & 7 == RATE {
            let rate = RateId(tag >> 3);
            if usize::from(rate.0) > RATES_MAX {
                return Err("unknown rate");
            }
            self.offset = at;
            return Ok((0, Event::Rate { rate }));
        }
        if tag == latency::TOOK {
            let units = self.field(&mut at)?;
            self.offset = at;
            return Ok((0, Event::Took { units }));
        }
        let dt = self.field(&mut at)?;
        if tag & 7 == NOTE {
            let event = self.note(tag, &mut at)?;
            self.offset = at;
            return Ok((dt, event));
        }
        let call = Call::from_bits(tag >> 3 & 0xf).ok_or("unknown call")?;
        let flag = tag & OTHER_THREAD != 0;
        let event = match tag & 7 {
            ALLOC if !flag => Event::Alloc {
                call,
                size_bytes: self.field(&mut at)?,
                stack: StackId(self.small(&mut at)?),
                align_log2: if call.is_aligned() { self.small(&mut at)?.min(63) as u8 } else { 0 },
            },
            FREE => Event::Free { call, block: self.block(&mut at, flag)? },
            REALLOC => Event::Realloc {
                call,
                old: self.block(&mut at, flag)?,
                size_bytes: self.field(&mut at)?,
                stack: StackId(self.small(&mut at)?),
            },
            FAILED if !flag => {
                Event::Failed { call, size_bytes: self.field(&mut at)?, stack: StackId(self.small(&mut at)?) }
            }
            UNKNOWN if flag => Event::UnknownRealloc {
                call,
                size_bytes: self.field(&mut at)?,
                stack: StackId(self.small(&mut at)?),
            },
            UNKNOWN => Event::UnknownFree { call },
            _ => return Err("unknown kind of event"),
        };
        self.offset = at;
        Ok((dt, event))
    }
}

impl Iterator for Events<'_> {
    type Item = Result<(u64, Event), BadEvent>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.bytes.len() {
            return None;
        }
        let result = self.decode().map_err(|why| BadEvent { offset: self.offset, why });
        if result.is_err() {
            self.bytes = &[];
        }
        Some(result)
    }
}
