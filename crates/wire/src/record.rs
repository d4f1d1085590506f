//! Events: what a thread did to the heap, a few bytes each, written in place into its chunk.
//!
//! ```text
//!   tag      bits 0-2 kind   bits 3-6 call   bit 7 another thread's block
//!   dt       varint, ticks since the event before it in this chunk (the chunk's begin for the first), >= 1
//!   alloc    size  stack  [align_log2, for the aligned calls]
//!   free     age_ticks  size  stack  [birth thread, when bit 7]
//!   realloc  age_ticks  old size  old stack  [birth thread, when bit 7]  new size  new stack
//!   failed   size  stack                          the call gave NULL and changed nothing
//!   note     what the call bits say, the flag is 0:
//!            0 lost     count  reason             events that are not here, see `head::LossReason`
//!            1 mark     name                      the program says that it is here
//!            2 begin    name                      of a section, which goes on until its end on this thread
//!            3 end      name                      of the innermost section of that name and of those inside it
//!            4 goes on  name  age_ticks           a section that began so long ago in an earlier chunk
//!   unknown  [new size  new stack, for realloc]   the block was not known: born before us, or dropped
//!   took     units         no dt; the flag alone: how long the call of the event right before it was in the heap
//!   rate     -             no dt; the call bits hold a sampling rate's number: all blocks told from here on,
//!                          born or gone, were sampled at that rate; a chunk begins at 0, every block
//! ```
//!
//! A free says what it frees - stack, size, age, thread of birth - so no reader has to match addresses:
//! each chunk can be summed alone, in any order, on any core. (thread, birth ticks) names the block. For the
//! same reason a chunk begins with the sections that its thread is in, the outermost first.

mod note;
mod took;

pub use crate::call::Call;
use crate::ids::{NameId, RateId, StackId, ThreadId};
use crate::limits::{EVENT_BYTES_MAX, RATES_MAX};
use crate::varint;
pub use note::Note;
pub use took::put_took;

/// A block as it is told when it goes: all that its live slot knew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Requested size in bytes.
    pub size_bytes: u64,
    /// Who asked for it.
    pub stack: StackId,
    /// Ticks from its birth to this event.
    pub age_ticks: u64,
    /// Thread that asked for it, when it is not the one of the event.
    pub birth_thread: Option<ThreadId>,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A block was handed out.
    Alloc {
        /// By this function.
        call: Call,
        /// Requested size in bytes.
        size_bytes: u64,
        /// Asked for here.
        stack: StackId,
        /// Alignment asked for, as a power of two; 0 for calls that ask for none.
        align_log2: u8,
    },
    /// A block was given back, by `free` and its like or by `realloc(p, 0)`.
    Free {
        /// By this function.
        call: Call,
        /// The block that went.
        block: Block,
    },
    /// A block changed its size, moved or in place: one call, both blocks.
    Realloc {
        /// By this function.
        call: Call,
        /// The block that went.
        old: Block,
        /// Requested size in bytes of the block that came.
        size_bytes: u64,
        /// Where it was asked for.
        stack: StackId,
    },
    /// The call gave NULL; nothing changed.
    Failed {
        /// By this function.
        call: Call,
        /// Requested size in bytes.
        size_bytes: u64,
        /// Asked for here.
        stack: StackId,
    },
    /// A block that is not known was given back.
    UnknownFree {
        /// By this function.
        call: Call,
    },
    /// A block that is not known became this one.
    UnknownRealloc {
        /// By this function.
        call: Call,
        /// Requested size in bytes of the block that came.
        size_bytes: u64,
        /// Where it was asked for.
        stack: StackId,
    },
    /// The blocks of the events that follow in this chunk were sampled at this rate.
    Rate {
        /// The rate.
        rate: RateId,
    },
    /// The call of the event right before this one was so long in the heap.
    Took {
        /// In units of the clock before its shift: of the time stamp counter, or ns.
        units: u64,
    },
    /// Events are missing here.
    Lost {
        /// How many.
        count: u64,
        /// Why: a number of [`crate::head::LossReason`].
        reason: u8,
    },
    /// The program says where it is.
    Note {
        /// What it says.
        note: Note,
        /// Of this name.
        name: NameId,
    },
}

const ALLOC: u8 = 1;
const FREE: u8 = 2;
const REALLOC: u8 = 3;
const FAILED: u8 = 4;
const NOTE: u8 = 5;
const UNKNOWN: u8 = 6;
const RATE: u8 = 7;
const OTHER_THREAD: u8 = 0x80;

/// Writes fields one after the other. The place was checked for the bound of a whole event, so running
/// out is a bug of ours; it shows as a length of 0 and nothing is committed.
struct Pen<'a> {
    at: &'a mut [u8; EVENT_BYTES_MAX],
    len: usize,
}

impl Pen<'_> {
    #[inline(always)]
    fn field(&mut self, value: u64) {
        let rest = self.at.get_mut(self.len..).unwrap_or_default();
        self.len += varint::put(rest, value);
    }

    #[inline(always)]
    fn block(&mut self, b: &Block) {
        self.field(b.age_ticks);
        self.field(b.size_bytes);
        self.field(u64::from(b.stack.0));
        if let Some(thread) = b.birth_thread {
            self.field(u64::from(thread.0));
        }
    }
}

const fn tag(kind: u8, call: Call) -> u8 {
    kind | (call as u8) << 3
}

const fn tag_of_block(kind: u8, call: Call, block: &Block) -> u8 {
    tag(kind, call) | if block.birth_thread.is_some() { OTHER_THREAD } else { 0 }
}

impl Event {
    /// The function that the program called, if it called one.
    #[inline(always)]
    pub const fn call(&self) -> Option<Call> {
        match *self {
            Event::Alloc { call, .. }
            | Event::Free { call, .. }
            | Event::Realloc { call, .. }
            | Event::Failed { call, .. }
            | Event::UnknownFree { call }
            | Event::UnknownRealloc { call, .. } => Some(call),
            Event::Rate { .. } | Event::Took { .. } | Event::Lost { .. } | Event::Note { .. } => None,
        }
    }

    /// Whether it is about a block of a pool, which lies inside one of the heap's.
    #[inline(always)]
    pub const fn is_pool(&self) -> bool {
        matches!(self.call(), Some(call) if call.is_pool())
    }

    /// Writes the event at `at`, `dt` ticks after the one before it (0 for a rate and what a call
    /// took); how many bytes it took.
    #[inline(always)]
    pub fn encode(&self, dt: u64, at: &mut [u8; EVENT_BYTES_MAX]) -> usize {
        if let Event::Rate { rate } = self {
            at[0] = RATE | (rate.0 & RATES_MAX as u8) << 3;
            return 1;
        }
        if let Event::Took { units } = self {
            return at.first_chunk_mut().map_or(0, |at| put_took(*units, at));
        }
        let mut pen = Pen { at, len: 1 };
        pen.field(dt);
        let tag = match self {
            Event::Rate { .. } | Event::Took { .. } => return 0, // told above
            Event::Alloc { call, size_bytes, stack, align_log2 } => {
                pen.field(*size_bytes);
                pen.field(u64::from(stack.0));
                if call.is_aligned() {
                    pen.field(u64::from(*align_log2));
                }
                tag(ALLOC, *call)
            }
            Event::Free { call, block } => {
                pen.block(block);
                tag_of_block(FREE, *call, block)
            }
            Event::Realloc { call, old, size_bytes, stack } => {
                pen.block(old);
                pen.field(*size_bytes);
                pen.field(u64::from(stack.0));
                tag_of_block(REALLOC, *call, old)
            }
            Event::Failed { call, size_bytes, stack } => {
                pen.field(*size_bytes);
                pen.field(u64::from(stack.0));
                tag(FAILED, *call)
            }
            Event::UnknownFree { call } => tag(UNKNOWN, *call),
            Event::UnknownRealloc { call, size_bytes, stack } => {
                pen.field(*size_bytes);
                pen.field(u64::from(stack.0));
                tag(UNKNOWN, *call) | OTHER_THREAD
            }
            Event::Lost { count, reason } => {
                pen.field(*count);
                pen.field(u64::from(*reason));
                NOTE | note::LOST << 3
            }
            Event::Note { note, name } => {
                pen.field(u64::from(name.0));
                if let Note::GoesOn { age_ticks } = note {
                    pen.field(*age_ticks);
                }
                NOTE | note.bits() << 3
            }
        };
        pen.at[0] = tag;
        pen.len
    }
}

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
            age_ticks: self.field(at)?,
            size_bytes: self.field(at)?,
            stack: StackId(self.small(at)?),
            birth_thread: if other_thread { Some(ThreadId(self.small(at)?)) } else { None },
        })
    }

    /// What is rare: the tag says that it is a note.
    #[cold]
    fn note(&self, tag: u8, at: &mut usize) -> Result<Event, &'static str> {
        if tag >> 3 == note::LOST {
            return Ok(Event::Lost { count: self.field(at)?, reason: self.small(at)?.min(255) as u8 });
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
        if tag == took::TOOK {
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

#[cfg(test)]
mod tests;
