//! The live table, written: plain stores into slots found by the address.
//!
//! Sound because a thread owns the address while it touches the slot: a slot is cleared before the real
//! free and filled after the real malloc. The pages of slots are allocated before their first store, a
//! unit of 16 KiB at a time; one byte for each unit, in private memory, says whether that was done.
//!
//! `POOL` is for which blocks: the heap's, or those of the program's own pools, which lie inside blocks of the
//! heap and are found by a directory of their own.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_wire::head::SharedHead;
use heapscribe_wire::ids::HeapAddress;
use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::live::{
    ADDRESS_END, GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER, Path, REGION_BYTES, SIZE_ELSEWHERE, SLOT_BYTES,
    Slot, region_units,
};

use super::marks::Marks;
use super::regions::{Region, RegionCache};
use super::slot_place::{SlotPlace, Words};
use crate::platform::lock::Lock;
use crate::platform::mapped_file::{SharedFile, WINDOW_BYTES};
use crate::platform::memory;
use crate::platform::refusals::Refusals;
use crate::platform::room::{self, Reserve};

const WINDOW_UNITS: u32 = (WINDOW_BYTES / LIVE_UNIT_BYTES) as u32;
const _: () = assert!(region_units(GRANULE_SHIFT_OTHER) <= WINDOW_UNITS);

/// The table of this process.
#[derive(Debug)]
pub(crate) struct LiveTable {
    file: SharedFile,
    marks: Marks,
    granule_shift: u32,
    units: u32,
    /// Units that may be taken before the room is asked for.
    granted: AtomicU32,
    refusals: Refusals,
    /// So many units at once, or more, have no place any more.
    too_many: AtomicU32,
}

/// So many units more are taken when there is room to spare: 256 KiB.
const UNITS_GRANTED: u32 = 16;

/// No room or no memory for a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoSlot;

impl LiveTable {
    /// A table over a new live file. `None` when there is no memory for its first marks.
    pub(crate) fn new(file: SharedFile, granule_shift: u32) -> Option<LiveTable> {
        let (marks, units) = (Marks::new(&file)?, (file.file_bytes() / LIVE_UNIT_BYTES) as u32);
        let (granted, too_many) = (AtomicU32::new(0), AtomicU32::new(u32::MAX));
        Some(LiveTable {
            file,
            marks,
            granule_shift,
            units,
            granted,
            refusals: Refusals::default(),
            too_many,
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

    /// Makes the pages of a unit. The caller holds the recorder's lock.
    fn provide(&self, unit: u32) -> Result<(), NoSlot> {
        let provided = self.try_provide(unit);
        if provided.is_ok() {
            self.refusals.clear()
        } else {
            self.refusals.fail()
        }
        provided
    }

    fn try_provide(&self, unit: u32) -> Result<(), NoSlot> {
        self.marks.get(unit).ok_or(NoSlot)?;
        let granted = match self.granted.load(Ordering::Relaxed) {
            0 if !room::is_spare(Reserve::Logs) => return Err(NoSlot),
            0 => UNITS_GRANTED,
            granted => granted,
        };
        self.granted.store(granted - 1, Ordering::Relaxed);
        self.file.provide(unit as usize * LIVE_UNIT_BYTES, LIVE_UNIT_BYTES).map_err(|_| NoSlot)?;
        self.marks.set(unit);
        Ok(())
    }

    /// Calls `visit` for each piece of the file below so many units that has pages: offset and bytes.
    pub(crate) fn for_each_extent(&self, units: u32, mut visit: impl FnMut(usize, usize)) {
        let units = units.min(self.units);
        let mut unit = 0;
        while unit < units {
            let first = unit;
            while unit < units && self.marks.is_present(unit) {
                unit += 1;
            }
            if unit > first {
                visit(first as usize * LIVE_UNIT_BYTES, (unit - first) as usize * LIVE_UNIT_BYTES);
            }
            unit += 1;
        }
    }

    fn entry(&self, unit: u32, index: usize) -> &AtomicU32 {
        // SAFETY: the unit is present (checked by the callers), an entry is 4 bytes within it or, for the
        // directory, within the following unit that was checked instead.
        unsafe { &*self.file.at(unit as usize * LIVE_UNIT_BYTES + index * 4).cast::<AtomicU32>() }
    }

    /// The slots around an address, if they exist.
    #[inline(always)]
    fn region<const POOL: bool>(&self, address: u64, cache: &RegionCache) -> Option<Region> {
        match cache.get(address) {
            Some(region) => Some(region),
            None => self.region_slow::<POOL>(address, cache),
        }
    }

    #[cold]
    fn region_slow<const POOL: bool>(&self, address: u64, cache: &RegionCache) -> Option<Region> {
        if address >= ADDRESS_END {
            return None;
        }
        let region = self.place_of(self.find_region(self.path::<POOL>(address))?);
        cache.set(address, region);
        Some(region)
    }

    /// Where the slots of the region that begins with `unit` are.
    fn place_of(&self, unit: u32) -> Region {
        Region { slots: self.file.at(unit as usize * LIVE_UNIT_BYTES), marks: self.marks.place(unit) }
    }

    fn find_region(&self, path: Path) -> Option<u32> {
        if !self.marks.is_present((path.directory * 4 / LIVE_UNIT_BYTES) as u32) {
            return None;
        }
        let table = self.entry(0, path.directory).load(Ordering::Acquire);
        if table == 0 {
            return None;
        }
        let region = self.entry(table, path.table).load(Ordering::Acquire);
        (region != 0).then_some(region)
    }

    #[cold]
    fn make_region<const POOL: bool>(
        &self,
        path: Path,
        head: &SharedHead,
        lock: &Lock,
    ) -> Result<u32, NoSlot> {
        if region_units(self.shift::<POOL>()) >= self.too_many.load(Ordering::Relaxed) {
            return Err(NoSlot);
        }
        let _held = lock.hold().ok_or(NoSlot)?;
        let directory_unit = (path.directory * 4 / LIVE_UNIT_BYTES) as u32;
        if !self.marks.is_present(directory_unit) {
            self.provide(directory_unit)?;
        }
        let entry = self.entry(0, path.directory);
        let mut table = entry.load(Ordering::Acquire);
        if table == 0 {
            table = self.add_units(1, head, |table| self.provide(table))?;
            self.marks.set(directory_unit);
            entry.store(table, Ordering::Release);
        }
        let entry = self.entry(table, path.table);
        let mut region = entry.load(Ordering::Acquire);
        if region == 0 {
            let n = region_units(self.shift::<POOL>());
            let end_bytes = |region| (region + n) as usize * LIVE_UNIT_BYTES;
            let open = |region| self.file.open(end_bytes(region)).map_err(|_| NoSlot);
            region = self.add_units(n, head, open)?;
            self.marks.set(table);
            entry.store(region, Ordering::Release);
        }
        Ok(region)
    }

    /// Takes units that are one piece of the file, once they are made ready. Those for which there is no memory are left
    /// to the next who looks: a full file system took all units of the table otherwise, one for each search.
    fn add_units(
        &self,
        n: u32,
        head: &SharedHead,
        make_ready: impl FnOnce(u32) -> Result<(), NoSlot>,
    ) -> Result<u32, NoSlot> {
        let mut first = head.live_units.load(Ordering::Relaxed).max(Marks::end(&self.file));
        if first / WINDOW_UNITS != (first + n - 1) / WINDOW_UNITS {
            first = first.next_multiple_of(WINDOW_UNITS); // a region's slots are one piece of memory
        }
        if first + n > self.units {
            self.too_many.fetch_min(n, Ordering::Relaxed);
            return Err(NoSlot);
        }
        self.marks.provide(first + n, &self.file).map_err(|_| NoSlot)?;
        make_ready(first)?;
        head.live_units.store(first + n, Ordering::Relaxed);
        Ok(first)
    }

    /// Where an address's slot is in its region.
    #[inline(always)]
    fn place<const POOL: bool>(&self, region: Region, address: u64) -> SlotPlace<'_> {
        let slot = ((address % REGION_BYTES) >> self.shift::<POOL>()) as usize;
        // SAFETY: a region's slots lie one behind the other in the mapping, in one window, and are touched
        // only when their unit is present; there is a mark for each unit, which has a page.
        unsafe {
            let mark = &*region.marks.add(slot * SLOT_BYTES / LIVE_UNIT_BYTES);
            SlotPlace::new(&*region.slots.add(slot * SLOT_BYTES).cast::<Words>(), mark)
        }
    }

    /// The words of an existing slot.
    #[inline(always)]
    fn existing<const POOL: bool>(&self, address: u64, cache: &RegionCache) -> Option<&Words> {
        self.place::<POOL>(self.region::<POOL>(address, cache)?, address).existing()
    }

    /// Has the slot of an address fetched, which most often is in no cache, while other things are done. Gives its
    /// place if that is known without a search.
    #[inline(always)]
    pub(crate) fn prefetch<const POOL: bool>(
        &self,
        address: u64,
        cache: &RegionCache,
    ) -> Option<SlotPlace<'_>> {
        let place = self.place::<POOL>(cache.get(address)?, address);
        memory::prefetch(ptr::from_ref(place.words()).cast());
        Some(place)
    }

    /// The words of a slot, made when they are not there yet.
    #[cold]
    fn provided<const POOL: bool>(
        &self,
        address: u64,
        cache: &RegionCache,
        head: &SharedHead,
        lock: &Lock,
    ) -> Result<&Words, NoSlot> {
        match self.existing::<POOL>(address, cache) {
            Some(words) => Ok(words),
            None => self.make_slot::<POOL>(address, head, lock),
        }
    }

    #[cold]
    fn make_slot<const POOL: bool>(
        &self,
        address: u64,
        head: &SharedHead,
        lock: &Lock,
    ) -> Result<&Words, NoSlot> {
        if address >= ADDRESS_END || self.refusals.is_refused() {
            return Err(NoSlot);
        }
        let path = self.path::<POOL>(address);
        let region = match self.find_region(path) {
            Some(region) => region,
            None => self.make_region::<POOL>(path, head, lock)?,
        };
        let place = self.place::<POOL>(self.place_of(region), address);
        if place.existing().is_none() {
            let _held = lock.hold().ok_or(NoSlot)?;
            self.provide(region + (path.slot * SLOT_BYTES / LIVE_UNIT_BYTES) as u32)?;
        }
        Ok(place.words())
    }

    #[inline(always)]
    pub(crate) fn upper_half<const POOL: bool>(&self, address: u64) -> bool {
        self.shift::<POOL>() == GRANULE_SHIFT_GLIBC && address & 16 != 0
    }

    /// [`Self::insert_at`] where the place is to be looked for.
    ///
    /// # Safety
    /// * The caller owns the block at `address`: nobody else inserts or removes there meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn insert<const POOL: bool>(
        &self,
        address: u64,
        slot: Slot,
        cache: &RegionCache,
        head: &SharedHead,
        lock: &Lock,
    ) -> Result<bool, NoSlot> {
        // SAFETY: the caller owns the block.
        unsafe { self.insert_at::<POOL>(address, slot, None, cache, head, lock) }
    }

    /// Inserts a block that was allocated, at its place if that is known. True when the slot had another block still:
    /// its free was not seen.
    ///
    /// # Safety
    /// * The caller owns the block at `address`: nobody else inserts or removes there meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn insert_at<const POOL: bool>(
        &self,
        address: u64,
        mut slot: Slot,
        place: Option<SlotPlace<'_>>,
        cache: &RegionCache,
        head: &SharedHead,
        lock: &Lock,
    ) -> Result<bool, NoSlot> {
        let words = match place.and_then(SlotPlace::existing) {
            Some(words) => words,
            None => self.provided::<POOL>(address, cache, head, lock)?,
        };
        slot.upper_half = self.upper_half::<POOL>(address);
        if slot.size_bytes >= SIZE_ELSEWHERE {
            let next = self.provided::<POOL>(address + (1 << self.shift::<POOL>()), cache, head, lock);
            let next = next.inspect_err(|_| words[0].store(0, Ordering::Relaxed))?;
            next[0].store(0, Ordering::Relaxed);
            next[1].store(slot.size_bytes, Ordering::Relaxed);
            slot.size_bytes = SIZE_ELSEWHERE;
        }
        let [word0, word1] = slot.pack();
        let replaced = Slot::unpack([words[0].load(Ordering::Relaxed), 0]).is_some();
        words[1].store(word1, Ordering::Release); // or a reader could pair it with the word 0 before
        words[0].store(word0, Ordering::Release);
        Ok(replaced)
    }

    /// [`Self::remove_at`] where the place is to be looked for.
    ///
    /// # Safety
    /// * The caller owns the block at `address`: nobody else inserts or removes there meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn remove<const POOL: bool>(&self, address: u64, cache: &RegionCache) -> Option<Slot> {
        // SAFETY: the caller owns the block.
        unsafe { self.remove_at::<POOL>(address, None, cache) }
    }

    /// Removes the block at `address` and gives what it was; `None` when there is none. Its place is given if it is known.
    ///
    /// # Safety
    /// * The caller owns the block at `address`: nobody else inserts or removes there meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn remove_at<const POOL: bool>(
        &self,
        address: u64,
        place: Option<SlotPlace<'_>>,
        cache: &RegionCache,
    ) -> Option<Slot> {
        let words = match place {
            Some(place) => place.existing()?,
            None => self.existing::<POOL>(address, cache)?,
        };
        let mut slot = Slot::unpack([words[0].load(Ordering::Relaxed), words[1].load(Ordering::Relaxed)])?;
        if slot.upper_half != self.upper_half::<POOL>(address) {
            return None;
        }
        if slot.size_bytes == SIZE_ELSEWHERE {
            let next = self.existing::<POOL>(address + (1 << self.shift::<POOL>()), cache)?;
            slot.size_bytes = next[1].load(Ordering::Relaxed);
        }
        words[0].store(0, Ordering::Relaxed);
        Some(slot)
    }
}

#[cfg(test)]
mod tests;
