//! The slots of blocks: which are free, in the units that they lie in.
//!
//! ```text
//!   slot 0       bits 0-31 the next unit that has free slots, 0 for none   32-63 how many of this one's are free
//!   slots 1..9   a bit for each slot of the unit, set while it is free and no thread keeps it
//!   slots 9..    of blocks
//! ```
//! A thread takes and gives many at a time, under the lock, the lowest first, so that those of a time lie together.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering};

use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::live::{HEADER_SLOTS, SLOT_BYTES, UNIT_SLOTS, unit_of_slot};

use super::{Access, LiveTable, NoSlot, Words};
use crate::live::free_slots::KEPT;
use crate::live::marks::change;

/// Words of the bits of a unit.
const BIT_WORDS: usize = UNIT_SLOTS / 64;
/// So many are taken and given at once.
const BATCH: usize = KEPT / 2;

/// Which slots of a unit are free. Only under the lock.
struct UnitSlots<'a> {
    /// The next unit, and how many are free.
    summary: &'a AtomicU64,
    bits: &'a [AtomicU64; BIT_WORDS],
}

impl UnitSlots<'_> {
    fn next(&self) -> u32 {
        self.summary.load(Ordering::Relaxed) as u32
    }

    fn free(&self) -> u32 {
        (self.summary.load(Ordering::Relaxed) >> 32) as u32
    }

    fn set(&self, next: u32, free: u32) {
        self.summary.store(u64::from(free) << 32 | u64::from(next), Ordering::Relaxed);
    }

    /// Takes the lowest that is free.
    fn take(&self) -> Option<u32> {
        let (word, bits) =
            self.bits.iter().enumerate().find(|(_, bits)| bits.load(Ordering::Relaxed) != 0)?;
        let set = bits.load(Ordering::Relaxed);
        bits.store(set & (set - 1), Ordering::Relaxed);
        self.set(self.next(), self.free().saturating_sub(1));
        Some(word as u32 * 64 + set.trailing_zeros())
    }
}

impl LiveTable {
    /// The words of a slot, which may be touched while an entry leads there or a thread keeps it.
    #[inline(always)]
    pub(super) fn slot(&self, number: u32) -> &Words {
        // SAFETY: the caller has the number from an entry or from free slots, so its unit has pages; two words lie within
        // a unit, which lies in one window.
        unsafe { &*self.file.at(number as usize * SLOT_BYTES).cast::<Words>() }
    }

    /// Says that a slot is about to be changed.
    #[inline(always)]
    fn mark_slot(&self, number: u32) {
        // SAFETY: units with slots are taken, and the marks of those have pages.
        change(unsafe { &*self.marks.place(unit_of_slot(number)) });
    }

    /// Takes a free slot and writes it: its number, for the entry.
    #[inline(always)]
    pub(super) fn filled(&self, [word0, word1]: [u64; 2], of: Access<'_>) -> Result<u32, NoSlot> {
        let number = match of.cache.free.take() {
            Some(number) => number,
            None => self.take_many(of)?,
        };
        self.mark_slot(number);
        let words = self.slot(number);
        words[0].store(word0, Ordering::Relaxed);
        words[1].store(word1, Ordering::Relaxed);
        Ok(number)
    }

    /// Frees a slot to which no entry leads any more. What it says is left: nobody looks there.
    #[inline(always)]
    pub(super) fn free_slot(&self, number: u32, of: Access<'_>) {
        if !of.cache.free.put(number) {
            self.give_many(number, of);
        }
    }

    /// Takes many for the thread, and one of them.
    #[cold]
    #[inline(never)]
    fn take_many(&self, of: Access<'_>) -> Result<u32, NoSlot> {
        if self.with_free_slots.load(Ordering::Relaxed) == 0 && self.refusals.is_refused() {
            return Err(NoSlot);
        }
        let _held = of.lock.hold().ok_or(NoSlot)?;
        for taken in 0..BATCH {
            match self.take_free() {
                Ok(number) if of.cache.free.put(number) => {}
                Err(NoSlot) if taken == 0 => return Err(NoSlot),
                _ => break,
            }
        }
        of.cache.free.turn_last(BATCH);
        of.cache.free.take().ok_or(NoSlot)
    }

    /// Takes one, under the lock.
    fn take_free(&self) -> Result<u32, NoSlot> {
        let unit = match self.with_free_slots.load(Ordering::Relaxed) {
            0 => self.add_slots()?,
            unit => unit,
        };
        self.marks.set(unit);
        let slots = self.unit_slots(unit);
        let taken = slots.take();
        if slots.free() == 0 {
            self.with_free_slots.store(slots.next(), Ordering::Relaxed);
        }
        Ok(unit * UNIT_SLOTS as u32 + taken.ok_or(NoSlot)?)
    }

    /// A new unit of slots.
    fn add_slots(&self) -> Result<u32, NoSlot> {
        let unit = self.add_units(1, |unit| self.provide(unit))?;
        let slots = self.unit_slots(unit);
        for (nth, bits) in slots.bits.iter().enumerate() {
            let of_header = if nth == 0 { (1 << HEADER_SLOTS) - 1 } else { 0 };
            bits.store(!of_header, Ordering::Relaxed);
        }
        slots.set(0, (UNIT_SLOTS - HEADER_SLOTS) as u32);
        self.with_free_slots.store(unit, Ordering::Relaxed);
        Ok(unit)
    }

    /// Gives many back, and this one. Without the lock it is lost, and used no more.
    #[cold]
    #[inline(never)]
    fn give_many(&self, number: u32, of: Access<'_>) {
        let Some(_held) = of.lock.hold() else { return };
        of.cache.free.take_first(BATCH, |number| self.give(number));
        of.cache.free.put(number);
    }

    /// Gives one back, under the lock.
    fn give(&self, number: u32) {
        let unit = unit_of_slot(number);
        self.marks.set(unit);
        let slots = self.unit_slots(unit);
        let at = number as usize % UNIT_SLOTS;
        let bits = &slots.bits[at / 64];
        bits.store(bits.load(Ordering::Relaxed) | 1 << (at % 64), Ordering::Relaxed);
        let (next, free) = match slots.free() {
            0 => (self.with_free_slots.swap(unit, Ordering::Relaxed), 1),
            free => (slots.next(), free + 1),
        };
        slots.set(next, free);
    }

    fn unit_slots(&self, unit: u32) -> UnitSlots<'_> {
        let first = self.file.at(unit as usize * LIVE_UNIT_BYTES).cast::<AtomicU64>();
        // SAFETY: a unit of slots has pages, and begins with these words.
        unsafe { UnitSlots { summary: &*first, bits: &*first.add(2).cast::<[AtomicU64; BIT_WORDS]>() } }
    }
}
