//! What happened.

use super::mapping::Mapping;
use super::note::Note;
use crate::call::Call;
use crate::ids::{NameId, RateId, StackId, ThreadId};
use crate::limits::BIRTH_BITS;

/// A block as its free is recorded: all that its live slot knew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Requested size in bytes.
    pub size_bytes: u64,
    /// Who asked for it.
    pub stack: StackId,
    /// Ticks from its birth to this event; 0 also where a clock said that it was born later.
    pub age_ticks: u64,
    /// Thread that asked for it, when it is not the one of the event.
    pub birth_thread: Option<ThreadId>,
}

impl Block {
    /// The age of a block that was written with this one: recorders have written ages below zero modulo 2^48,
    /// which a reader would show as 45 days.
    #[inline(always)]
    pub const fn age(written_ticks: u64) -> u64 {
        if written_ticks < 1 << (BIRTH_BITS - 1) { written_ticks } else { 0 }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A block was allocated.
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
    /// A block was freed, by `free` and its like or by `realloc(p, 0)`.
    Free {
        /// By this function.
        call: Call,
        /// The block that was freed.
        block: Block,
    },
    /// A block changed its size, moved or in place: one call, both blocks.
    Realloc {
        /// By this function.
        call: Call,
        /// The block that was freed.
        old: Block,
        /// Requested size in bytes of the new block.
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
    /// A block that is not known was freed.
    UnknownFree {
        /// By this function.
        call: Call,
    },
    /// A block that is not known became this one.
    UnknownRealloc {
        /// By this function.
        call: Call,
        /// Requested size in bytes of the new block.
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
    /// An annotation of the program.
    Note {
        /// Which.
        note: Note,
        /// Of this name.
        name: NameId,
    },
    /// The program has changed its own mappings.
    Mapping(Mapping),
}

// What is rare must not make the others larger.
const _: () = assert!(size_of::<Event>() == 48);

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
            Event::Rate { .. }
            | Event::Took { .. }
            | Event::Lost { .. }
            | Event::Note { .. }
            | Event::Mapping(_) => None,
        }
    }

    /// Whether it is about a block of a pool, which lies inside one of the heap's.
    #[inline(always)]
    pub const fn is_pool(&self) -> bool {
        matches!(self.call(), Some(call) if call.is_pool())
    }
}
