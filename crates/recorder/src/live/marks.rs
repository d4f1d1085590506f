//! A mark for each unit of the live table: whether it has pages, and whether it was changed since a reader has asked. A
//! thread looks at it before each change in any case, so what a reader wants to know costs nothing.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::live::{CHANGED, DIRECTORY_UNITS, MARKS_OFFSET, mark_units};

use heapscribe_nolibc::sys;

use crate::platform::mapped_file::SharedFile;

/// Units whose marks are on a page together.
const UNITS_A_PAGE: u32 = 4096;

/// The marks in the file of a table.
#[derive(Debug)]
pub(super) struct Marks {
    first: NonNull<AtomicU8>,
    /// The units whose marks have pages.
    units: AtomicU32,
}

impl Marks {
    /// Of a new file. `None` when there is no memory for the first of them; a file that has no room for any has no room
    /// for a block either.
    pub(super) fn new(file: &SharedFile) -> Option<Marks> {
        if (file.file_bytes() / LIVE_UNIT_BYTES) as u32 <= Self::end(file) {
            return Some(Marks { first: NonNull::dangling(), units: AtomicU32::new(0) });
        }
        file.provide(MARKS_OFFSET, UNITS_A_PAGE as usize).ok()?;
        let first = NonNull::new(file.at(MARKS_OFFSET).cast())?;
        Some(Marks { first, units: AtomicU32::new(UNITS_A_PAGE) })
    }

    /// The unit behind them.
    pub(super) fn end(file: &SharedFile) -> u32 {
        DIRECTORY_UNITS + mark_units(file.file_bytes())
    }

    /// The mark of a unit, if marks of its number have pages.
    #[inline(always)]
    pub(super) fn get(&self, unit: u32) -> Option<&AtomicU8> {
        // SAFETY: these marks have pages, for the life of the process.
        (unit < self.units.load(Ordering::Acquire)).then(|| unsafe { self.first.add(unit as usize).as_ref() })
    }

    /// Where the mark of a unit is, which has a page when the unit is one of those taken.
    pub(super) fn place(&self, unit: u32) -> *const AtomicU8 {
        self.first.as_ptr().wrapping_add(unit as usize)
    }

    /// Whether a unit has pages.
    #[inline(always)]
    pub(super) fn is_present(&self, unit: u32) -> bool {
        self.get(unit).is_some_and(|mark| mark.load(Ordering::Relaxed) != 0)
    }

    /// A unit has pages now, or is about to be changed.
    pub(super) fn set(&self, unit: u32) {
        if let Some(mark) = self.get(unit) {
            mark.store(CHANGED, Ordering::Relaxed);
        }
    }

    /// Makes pages for the marks of the first `units`. The caller holds the recorder's lock.
    pub(super) fn provide(&self, units: u32, file: &SharedFile) -> sys::Result<()> {
        let mut provided = self.units.load(Ordering::Relaxed);
        while provided < units {
            file.provide(MARKS_OFFSET + provided as usize, UNITS_A_PAGE as usize)?;
            provided += UNITS_A_PAGE;
            self.units.store(provided, Ordering::Release);
        }
        Ok(())
    }
}

/// Says that the unit with this mark is about to be changed; whether it has pages. Nearly always it was said before.
#[inline(always)]
pub(super) fn change(mark: &AtomicU8) -> bool {
    mark.load(Ordering::Relaxed) == CHANGED || note_change(mark)
}

#[cold]
#[inline(never)]
fn note_change(mark: &AtomicU8) -> bool {
    let has_pages = mark.load(Ordering::Relaxed) != 0;
    if has_pages {
        // In the operation that the change is in: a reader sees both or neither.
        mark.store(CHANGED, Ordering::Relaxed);
    }
    has_pages
}
