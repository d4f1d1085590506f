//! The live table, written: plain stores into an entry found by the address, and into the slot that it leads to.
//!
//! Sound because a thread owns the address while it touches its entry, and a slot while an entry of its own leads there
//! or none: an entry is cleared before the real free and filled after the real malloc. The pages of units are allocated
//! before their first store, 16 KiB at a time; the mark of a unit says whether that was done.
//!
//! `POOL` is for which blocks: the heap's, or those of the program's own pools, which lie inside blocks of the
//! heap and are found by a directory of their own.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use heapscribe_wire::head::SharedHead;
use heapscribe_wire::ids::{HeapAddress, ThreadId};
use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::live::{
    ADDRESS_END, ENTRY_BYTES, GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER, LargeBlock, Path, REGION_BYTES,
    SIZE_ELSEWHERE, SLOT_BYTES, Slot, UsualSlot,
};

use super::entry_place::EntryPlace;
use super::live_cache::LiveCache;
use super::marks::Marks;
use super::regions::Region;
use crate::platform::lock::Lock;
use crate::platform::mapped_file::SharedFile;
use crate::platform::memory;
use crate::platform::refusals::Refusals;

mod slots;
mod space;

/// The words of a slot.
type Words = [AtomicU64; 2];
const _: () = assert!(size_of::<Words>() == SLOT_BYTES);

/// The table of this process.
#[derive(Debug)]
pub(crate) struct LiveTable {
    file: SharedFile,
    marks: Marks,
    head: &'static SharedHead,
    granule_shift: u32,
    units: u32,
    /// Units that may be taken before the room is asked for.
    granted: AtomicU32,
    refusals: Refusals,
    /// So many units at once, or more, have no place any more.
    too_many: AtomicU32,
    /// The first unit that has free slots which no thread keeps; 0 when none has.
    with_free_slots: AtomicU32,
}

/// No room or no memory for a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoSlot;

/// What a thread changes the table with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access<'a> {
    /// What it keeps of the table.
    pub cache: &'a LiveCache,
    /// The recorder's lock.
    pub lock: &'a Lock,
}

/// Where a block is in the table, as long as nobody frees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPlace<'a> {
    place: EntryPlace<'a>,
    slot: u32,
    words: &'a Words,
}

impl LiveTable {
    /// A table over a new live file. `None` when there is no memory for its first marks.
    pub(crate) fn new(file: SharedFile, granule_shift: u32, head: &'static SharedHead) -> Option<LiveTable> {
        let (marks, units) = (Marks::new(&file)?, (file.file_bytes() / LIVE_UNIT_BYTES) as u32);
        Some(LiveTable {
            file,
            marks,
            head,
            granule_shift,
            units,
            granted: AtomicU32::new(0),
            refusals: Refusals::default(),
            too_many: AtomicU32::new(u32::MAX),
            with_free_slots: AtomicU32::new(0),
        })
    }

    /// How far apart blocks start. Pools are the program's own, so nothing is known of theirs.
    #[inline(always)]
    fn shift<const POOL: bool>(&self) -> u32 {
        if POOL { GRANULE_SHIFT_OTHER } else { self.granule_shift }
    }

    fn path<const POOL: bool>(&self, address: u64) -> Path {
        if POOL {
            Path::of_pool(HeapAddress(address))
        } else {
            Path::of(HeapAddress(address), self.granule_shift)
        }
    }

    /// The mapped file.
    pub(crate) fn file(&self) -> &SharedFile {
        &self.file
    }

    /// Where an address's entry is in its region.
    #[inline(always)]
    fn place<const POOL: bool>(&self, region: Region, address: u64) -> EntryPlace<'_> {
        let at = ((address % REGION_BYTES) >> self.shift::<POOL>()) as usize * ENTRY_BYTES;
        // SAFETY: a region's entries lie one behind the other in the mapping, in one window, and are touched
        // only when their unit is present; there is a mark for each unit, which has a page.
        unsafe {
            let mark = &*region.marks.add(at / LIVE_UNIT_BYTES);
            EntryPlace::new(&*region.entries.add(at).cast::<AtomicU32>(), mark)
        }
    }

    /// An existing entry, to be changed.
    #[inline(always)]
    fn existing<const POOL: bool>(&self, address: u64, cache: &LiveCache) -> Option<&AtomicU32> {
        self.place::<POOL>(self.region::<POOL>(address, &cache.regions)?, address).existing()
    }

    /// Has the entry of an address fetched, which most often is in no cache, while other things are done. Gives its
    /// place if that is known without a search.
    #[inline(always)]
    pub(crate) fn prefetch<const POOL: bool>(
        &self,
        address: u64,
        cache: &LiveCache,
    ) -> Option<EntryPlace<'_>> {
        let place = self.place::<POOL>(cache.regions.get(address)?, address);
        memory::prefetch(ptr::from_ref(place.entry()).cast());
        Some(place)
    }

    /// The same for a block that is there: its slot is fetched, too. `None` also where there is none.
    #[inline(always)]
    pub(crate) fn prefetch_block<const POOL: bool>(
        &self,
        address: u64,
        cache: &LiveCache,
    ) -> Option<BlockPlace<'_>> {
        let place = self.place::<POOL>(cache.regions.get(address)?, address);
        let slot = place.peek().filter(|slot| *slot != 0)?;
        let words = self.slot(slot);
        memory::prefetch(ptr::from_ref(words).cast());
        Some(BlockPlace { place, slot, words })
    }

    /// An entry, made when it is not there yet.
    #[cold]
    fn provided<const POOL: bool>(&self, address: u64, of: Access<'_>) -> Result<&AtomicU32, NoSlot> {
        match self.existing::<POOL>(address, of.cache) {
            Some(entry) => Ok(entry),
            None => self.make_entry::<POOL>(address, of.lock),
        }
    }

    #[cold]
    fn make_entry<const POOL: bool>(&self, address: u64, lock: &Lock) -> Result<&AtomicU32, NoSlot> {
        if address >= ADDRESS_END || self.refusals.is_refused() {
            return Err(NoSlot);
        }
        let path = self.path::<POOL>(address);
        let region = match self.find_region(path) {
            Some(region) => region,
            None => self.make_region::<POOL>(path, lock)?,
        };
        let place = self.place::<POOL>(self.place_of(region), address);
        if place.existing().is_none() {
            let _held = lock.hold().ok_or(NoSlot)?;
            self.provide(region + (path.granule * ENTRY_BYTES / LIVE_UNIT_BYTES) as u32)?;
        }
        Ok(place.entry())
    }

    #[inline(always)]
    pub(crate) fn upper_half<const POOL: bool>(&self, address: u64) -> bool {
        self.shift::<POOL>() == GRANULE_SHIFT_GLIBC && address & 16 != 0
    }

    /// Inserts a block that was allocated, at its place if that is known. True when another block was there still:
    /// its free was not seen.
    ///
    /// # Safety
    /// * The caller owns the block at `address`: nobody else inserts or removes there meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn insert<const POOL: bool>(
        &self,
        address: u64,
        mut slot: Slot,
        place: Option<EntryPlace<'_>>,
        of: Access<'_>,
    ) -> Result<bool, NoSlot> {
        let entry = match place.and_then(EntryPlace::existing) {
            Some(entry) => entry,
            None => self.provided::<POOL>(address, of)?,
        };
        let before = entry.load(Ordering::Relaxed);
        let is_replaced = before != 0;
        if is_replaced {
            self.discard(entry, before, of);
        }
        slot.upper_half = self.upper_half::<POOL>(address);
        let mut number = self.filled(slot.pack(), of)?;
        if slot.size_bytes >= SIZE_ELSEWHERE {
            number = self.large(number, slot.size_bytes, of)?;
        }
        entry.store(number, Ordering::Release);
        Ok(is_replaced)
    }

    /// What leads to the slot of a large block.
    #[cold]
    #[inline(never)]
    fn large(&self, slot: u32, size_bytes: u64, of: Access<'_>) -> Result<u32, NoSlot> {
        let filled = self.filled(LargeBlock { slot, size_bytes }.pack(), of);
        filled.inspect_err(|_| self.free_slot(slot, of))
    }

    /// Clears an entry that led to this slot still: a block's whose free was not seen.
    #[cold]
    #[inline(never)]
    fn discard(&self, entry: &AtomicU32, number: u32, of: Access<'_>) {
        entry.store(0, Ordering::Relaxed);
        if let Some(LargeBlock { slot, .. }) = LargeBlock::unpack(load(self.slot(number))) {
            self.free_slot(slot, of);
        }
        self.free_slot(number, of);
    }

    /// Removes the block at `address` and gives what it was; `None` when there is none.
    ///
    /// # Safety
    /// * The caller owns the block at `address`: nobody else inserts or removes there meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn remove<const POOL: bool>(&self, address: u64, of: Access<'_>) -> Option<Slot> {
        let entry = self.existing::<POOL>(address, of.cache)?;
        let number = entry.load(Ordering::Relaxed);
        if number == 0 {
            return None;
        }
        let words = load(self.slot(number));
        let Some(slot) = Slot::unpack(words) else {
            return self.remove_large(
                entry,
                LargeBlock::unpack(words)?,
                self.upper_half::<POOL>(address),
                of,
            );
        };
        if slot.upper_half != self.upper_half::<POOL>(address) {
            return None;
        }
        entry.store(0, Ordering::Relaxed);
        self.free_slot(number, of);
        Some(slot)
    }

    #[cold]
    #[inline(never)]
    fn remove_large(
        &self,
        entry: &AtomicU32,
        LargeBlock { slot: number, size_bytes }: LargeBlock,
        upper_half: bool,
        of: Access<'_>,
    ) -> Option<Slot> {
        let slot = Slot::unpack(load(self.slot(number))).filter(|slot| slot.upper_half == upper_half)?;
        let before = entry.swap(0, Ordering::Relaxed);
        self.free_slot(before, of);
        self.free_slot(number, of);
        Some(Slot { size_bytes, ..slot })
    }

    /// Removes the block whose place this is and gives what it was, if it is a usual one of the thread, see
    /// [`Slot::unpack_usual`]. Else it is still there, if there is one.
    ///
    /// # Safety
    /// * The caller owns the block: nobody else inserts or removes there meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn take_usual(
        &self,
        BlockPlace { place, slot: number, words }: BlockPlace<'_>,
        thread: ThreadId,
        upper_half: bool,
        of: Access<'_>,
    ) -> Option<UsualSlot> {
        let entry = place.existing()?;
        let slot = Slot::unpack_usual(load(words), thread, upper_half)?;
        entry.store(0, Ordering::Relaxed);
        self.free_slot(number, of);
        Some(slot)
    }
}

#[inline(always)]
fn load(words: &Words) -> [u64; 2] {
    [words[0].load(Ordering::Relaxed), words[1].load(Ordering::Relaxed)]
}

#[cfg(test)]
mod tests;
