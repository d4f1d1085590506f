//! The place of a slot in memory, known before it is used: fetched early, and not looked for twice.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use heapscribe_wire::live::SLOT_BYTES;

/// The words of a slot.
pub(super) type Words = [AtomicU64; 2];
const _: () = assert!(size_of::<Words>() == SLOT_BYTES);

/// Where the slot of an address is, whose pages may not be there yet. It stays there as long as the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotPlace<'a> {
    words: &'a Words,
    present: &'a AtomicU8,
}

impl<'a> SlotPlace<'a> {
    /// A slot at `words`; `present` is 1 when its pages are there.
    #[inline(always)]
    pub(super) fn new(words: &'a Words, present: &'a AtomicU8) -> SlotPlace<'a> {
        SlotPlace { words, present }
    }

    /// The words, which are not to be touched before their pages are there.
    #[inline(always)]
    pub(super) fn words(self) -> &'a Words {
        self.words
    }

    /// The words, if their pages are there.
    #[inline(always)]
    pub(super) fn existing(self) -> Option<&'a Words> {
        (self.present.load(Ordering::Relaxed) != 0).then_some(self.words)
    }
}

/// Has memory fetched into the cache.
#[inline(always)]
pub(crate) fn prefetch(place: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, which does nothing where there is no memory.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
}
