//! From an event to its bytes, written in place.

use super::event::{Block, Event};
use super::latency::put_latency;
use super::mapping::{MAPPING, Mapping};
use super::note::{self, Note};
use super::tag::{ALLOC, FAILED, FREE, NOTE, OTHER_THREAD, RATE, REALLOC, UNKNOWN, tag};
use crate::call::Call;
use crate::limits::{EVENT_BYTES_MAX, RATES_MAX};
use crate::varint;

/// Writes fields one after the other. The place was checked for the bound of a whole event, so running
/// out is a bug of ours; it shows as a length of 0 and nothing is committed.
struct FieldWriter<'a> {
    at: &'a mut [u8; EVENT_BYTES_MAX],
    len: usize,
}

impl FieldWriter<'_> {
    #[inline(always)]
    fn put(&mut self, value: u64) {
        let rest = self.at.get_mut(self.len..).unwrap_or_default();
        self.len += varint::put(rest, value);
    }

    /// Gives the tag.
    #[cold]
    fn put_mapping(&mut self, mapping: &Mapping) -> u8 {
        mapping.fields().for_each(|field| self.put(field));
        NOTE | MAPPING << 3
    }

    #[inline(always)]
    fn put_block(&mut self, b: &Block) {
        self.put(b.age_ticks);
        self.put(b.size_bytes);
        self.put(u64::from(b.stack.0));
        if let Some(thread) = b.birth_thread {
            self.put(u64::from(thread.0));
        }
    }
}

/// Numbers below this take one or two bytes: nearly all.
const SHORT_END: u64 = 1 << 14;

/// Writes the tag and up to four short numbers as one word, whose bytes behind the event are overwritten by what
/// comes next. `None` when one is not short.
#[inline(always)]
fn put_short<const N: usize>(at: &mut [u8; EVENT_BYTES_MAX], tag: u8, values: [u64; N]) -> Option<usize> {
    const { assert!(2 * N <= size_of::<u64>()) };
    if values.iter().fold(0, |all, value| all | value) >= SHORT_END {
        return None;
    }
    let (mut word, mut bits) = (0, 0);
    for value in values {
        let more = u64::from(value >= 0x80);
        // The bits above the lowest seven move up by one.
        word |= ((value + (value & (SHORT_END - 0x80))) | (more << 7)) << bits;
        bits += 8 + 8 * more;
    }
    let (first, rest) = at.split_first_mut()?;
    *first = tag;
    *rest.first_chunk_mut()? = word.to_le_bytes();
    Some(1 + (bits / 8) as usize)
}

const fn tag_of_block(kind: u8, call: Call, block: &Block) -> u8 {
    tag(kind, call) | if block.birth_thread.is_some() { OTHER_THREAD } else { 0 }
}

impl Event {
    /// Writes the event at `at`, `dt` ticks after the one before it (0 for a rate and what a call
    /// took); how many bytes it took.
    #[inline(always)]
    pub fn encode(&self, dt: u64, at: &mut [u8; EVENT_BYTES_MAX]) -> usize {
        if let Event::Rate { rate } = self {
            at[0] = RATE | (rate.0 & RATES_MAX as u8) << 3;
            return 1;
        }
        if let Event::Took { units } = self {
            return at.first_chunk_mut().map_or(0, |at| put_latency(*units, at));
        }
        let short = match self {
            Event::Alloc { call, size_bytes, stack, .. } if !call.is_aligned() => {
                put_short(at, tag(ALLOC, *call), [dt, *size_bytes, u64::from(stack.0)])
            }
            Event::Free { call, block: b @ Block { birth_thread: None, .. } } => {
                put_short(at, tag(FREE, *call), [dt, b.age_ticks, b.size_bytes, u64::from(b.stack.0)])
            }
            _ => None,
        };
        if let Some(len) = short {
            return len;
        }
        let mut fields = FieldWriter { at, len: 1 };
        fields.put(dt);
        let tag = match self {
            Event::Rate { .. } | Event::Took { .. } => return 0, // written above
            Event::Alloc { call, size_bytes, stack, align_log2 } => {
                fields.put(*size_bytes);
                fields.put(u64::from(stack.0));
                if call.is_aligned() {
                    fields.put(u64::from(*align_log2));
                }
                tag(ALLOC, *call)
            }
            Event::Free { call, block } => {
                fields.put_block(block);
                tag_of_block(FREE, *call, block)
            }
            Event::Realloc { call, old, size_bytes, stack } => {
                fields.put_block(old);
                fields.put(*size_bytes);
                fields.put(u64::from(stack.0));
                tag_of_block(REALLOC, *call, old)
            }
            Event::Failed { call, size_bytes, stack } => {
                fields.put(*size_bytes);
                fields.put(u64::from(stack.0));
                tag(FAILED, *call)
            }
            Event::UnknownFree { call } => tag(UNKNOWN, *call),
            Event::UnknownRealloc { call, size_bytes, stack } => {
                fields.put(*size_bytes);
                fields.put(u64::from(stack.0));
                tag(UNKNOWN, *call) | OTHER_THREAD
            }
            Event::Lost { count, reason } => {
                fields.put(*count);
                fields.put(u64::from(*reason));
                NOTE | note::LOST << 3
            }
            Event::Note { note, name } => {
                fields.put(u64::from(name.0));
                if let Note::GoesOn { age_ticks } = note {
                    fields.put(*age_ticks);
                }
                NOTE | note.bits() << 3
            }
            Event::Mapping(mapping) => fields.put_mapping(mapping),
        };
        fields.at[0] = tag;
        fields.len
    }
}
