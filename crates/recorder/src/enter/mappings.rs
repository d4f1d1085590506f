//! The program's own mappings: an event each, with addresses. Nothing is looked up here, and nothing kept: whoever reads
//! the trace follows the ranges.
#![allow(unsafe_code)]

use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Event, Mapping, MappingFlags, MappingKind};

use super::entry_token::Entered;
use crate::unwind::Registers;
use crate::{events, stack_ids, state};

/// What a call has changed.
#[derive(Clone, Copy, Debug)]
pub struct MappingChange {
    /// How.
    pub kind: MappingKind,
    /// What the range is now.
    pub flags: MappingFlags,
    /// The range: first address and bytes.
    pub range: (usize, usize),
    /// The one that was moved, of a move.
    pub old: (usize, usize),
}

/// The time at which a call begins, for [`Entered::record_mapping`]; 0 without a session.
pub fn mapping_ticks() -> u64 {
    state::current().map_or(0, |session| session.ticks())
}

impl Entered {
    /// Records what a call has changed that began at these ticks.
    ///
    /// # Safety
    /// * `registers` are those of the hook's caller, which is still active.
    pub unsafe fn record_mapping(&self, change: &MappingChange, begin_ticks: u64, registers: Registers) {
        if self.is_off() {
            return;
        }
        let (thread, session) = (self.thread, self.session);
        let stack = match change.kind {
            // SAFETY: the registers are those of the hook's caller, which is active.
            MappingKind::Map | MappingKind::Move => unsafe {
                stack_ids::stack_id(registers, thread, session)
            },
            MappingKind::Unmap | MappingKind::Protect => StackId::UNKNOWN,
        };
        let Some(place) = events::reserve(thread, session) else { return };
        let took_ticks = if begin_ticks == 0 { 0 } else { place.now.saturating_sub(begin_ticks) };
        let mapping = Mapping {
            kind: change.kind,
            flags: change.flags,
            took_ticks: u32::try_from(took_ticks).unwrap_or(u32::MAX),
            stack,
            address: change.range.0 as u64,
            len_bytes: change.range.1 as u64,
            old_address: change.old.0 as u64,
            old_len_bytes: change.old.1 as u64,
        };
        // It is of no rate: the one in force stays.
        place.write(&Event::Mapping(mapping), thread.chunk_rate.get());
    }
}
