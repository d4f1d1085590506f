//! The place of an entry in memory, known before it is used: fetched early, and not looked for twice.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use super::marks::change;

/// Where the entry of an address is, whose pages may not be there yet. It stays there as long as the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryPlace<'a> {
    entry: &'a AtomicU32,
    mark: &'a AtomicU8,
}

impl<'a> EntryPlace<'a> {
    /// An entry in a unit with this mark.
    #[inline(always)]
    pub(super) fn new(entry: &'a AtomicU32, mark: &'a AtomicU8) -> EntryPlace<'a> {
        EntryPlace { entry, mark }
    }

    /// The entry, which is not to be touched before its pages are there.
    #[inline(always)]
    pub(super) fn entry(self) -> &'a AtomicU32 {
        self.entry
    }

    /// What stands in it, if its pages are there.
    #[inline(always)]
    pub(super) fn peek(self) -> Option<u32> {
        (self.mark.load(Ordering::Relaxed) != 0).then(|| self.entry.load(Ordering::Relaxed))
    }

    /// The entry, to be changed within the operation that is under way, if its pages are there.
    #[inline(always)]
    pub(super) fn existing(self) -> Option<&'a AtomicU32> {
        change(self.mark).then_some(self.entry)
    }
}
