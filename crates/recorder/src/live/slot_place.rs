//! The place of a slot in memory, known before it is used: fetched early, and not looked for twice.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use heapscribe_wire::ids::ThreadId;
use heapscribe_wire::live::{CHANGED, SLOT_BYTES, Slot, UsualSlot};

use super::marks::note_change;

/// The words of a slot.
pub(super) type Words = [AtomicU64; 2];
const _: () = assert!(size_of::<Words>() == SLOT_BYTES);

/// Where the slot of an address is, whose pages may not be there yet. It stays there as long as the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotPlace<'a> {
    words: &'a Words,
    mark: &'a AtomicU8,
}

impl<'a> SlotPlace<'a> {
    /// A slot at `words`, in a unit with this mark.
    #[inline(always)]
    pub(super) fn new(words: &'a Words, mark: &'a AtomicU8) -> SlotPlace<'a> {
        SlotPlace { words, mark }
    }

    /// The words, which are not to be touched before their pages are there.
    #[inline(always)]
    pub(super) fn words(self) -> &'a Words {
        self.words
    }

    /// The words, to be changed within the operation that is under way, if their pages are there.
    #[inline(always)]
    pub(super) fn existing(self) -> Option<&'a Words> {
        let is_changed = self.mark.load(Ordering::Relaxed) == CHANGED;
        (is_changed || note_change(self.mark)).then_some(self.words)
    }

    /// Removes the block whose place this is and gives what it was, if it is a usual one of the thread, see
    /// [`Slot::unpack_usual`]. Else it is still there, if there is one.
    ///
    /// # Safety
    /// * The caller owns the block: nobody else inserts or removes there meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn take_usual(self, thread: ThreadId, upper_half: bool) -> Option<UsualSlot> {
        let words = self.existing()?;
        let loaded = [words[0].load(Ordering::Relaxed), words[1].load(Ordering::Relaxed)];
        let slot = Slot::unpack_usual(loaded, thread, upper_half)?;
        words[0].store(0, Ordering::Relaxed);
        Some(slot)
    }
}
