//! The units of the file: which are taken, and when they get pages.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::live::{ADDRESS_END, ENTRY_BYTES, Path, region_units};

use super::{LiveTable, NoSlot};
use crate::live::marks::Marks;
use crate::live::regions::{Region, RegionCache};
use crate::platform::lock::Lock;
use crate::platform::mapped_file::WINDOW_BYTES;
use crate::platform::room::{self, Reserve};

const WINDOW_UNITS: u32 = (WINDOW_BYTES / LIVE_UNIT_BYTES) as u32;
const _: () = assert!(region_units(heapscribe_wire::live::GRANULE_SHIFT_OTHER) <= WINDOW_UNITS);
/// So many units more are taken when there is room to spare: 256 KiB.
const UNITS_GRANTED: u32 = 16;

impl LiveTable {
    /// Makes the pages of a unit. The caller holds the recorder's lock.
    pub(super) fn provide(&self, unit: u32) -> Result<(), NoSlot> {
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
        // SAFETY: the unit is present (checked by the callers), an entry is within it or, for the
        // directory, within the following unit that was checked instead.
        unsafe { &*self.file.at(unit as usize * LIVE_UNIT_BYTES + index * ENTRY_BYTES).cast::<AtomicU32>() }
    }

    /// The region that an address is in, if there is one.
    #[inline(always)]
    pub(super) fn region<const POOL: bool>(&self, address: u64, cache: &RegionCache) -> Option<Region> {
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

    /// Where the entries of the region that begins with `unit` are.
    pub(super) fn place_of(&self, unit: u32) -> Region {
        Region { entries: self.file.at(unit as usize * LIVE_UNIT_BYTES), marks: self.marks.place(unit) }
    }

    pub(super) fn find_region(&self, path: Path) -> Option<u32> {
        if !self.marks.is_present((path.directory * ENTRY_BYTES / LIVE_UNIT_BYTES) as u32) {
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
    pub(super) fn make_region<const POOL: bool>(&self, path: Path, lock: &Lock) -> Result<u32, NoSlot> {
        if region_units(self.shift::<POOL>()) >= self.too_many.load(Ordering::Relaxed) {
            return Err(NoSlot);
        }
        let _held = lock.hold().ok_or(NoSlot)?;
        let directory_unit = (path.directory * ENTRY_BYTES / LIVE_UNIT_BYTES) as u32;
        if !self.marks.is_present(directory_unit) {
            self.provide(directory_unit)?;
        }
        let entry = self.entry(0, path.directory);
        let mut table = entry.load(Ordering::Acquire);
        if table == 0 {
            table = self.add_units(1, |table| self.provide(table))?;
            self.marks.set(directory_unit);
            entry.store(table, Ordering::Release);
        }
        let entry = self.entry(table, path.table);
        let mut region = entry.load(Ordering::Acquire);
        if region == 0 {
            let n = region_units(self.shift::<POOL>());
            let end_bytes = |region| (region + n) as usize * LIVE_UNIT_BYTES;
            let open = |region| self.file.open(end_bytes(region)).map_err(|_| NoSlot);
            region = self.add_units(n, open)?;
            self.marks.set(table);
            entry.store(region, Ordering::Release);
        }
        Ok(region)
    }

    /// Takes units that are one piece of the file, once they are made ready. Those for which there is no memory are left
    /// to the next who looks: a full file system took all units of the table otherwise, one for each search.
    pub(super) fn add_units(
        &self,
        n: u32,
        make_ready: impl FnOnce(u32) -> Result<(), NoSlot>,
    ) -> Result<u32, NoSlot> {
        let mut first = self.head.live_units.load(Ordering::Relaxed).max(Marks::end(&self.file));
        if first / WINDOW_UNITS != (first + n - 1) / WINDOW_UNITS {
            first = first.next_multiple_of(WINDOW_UNITS); // a region is one piece of memory
        }
        if first + n > self.units {
            self.too_many.fetch_min(n, Ordering::Relaxed);
            return Err(NoSlot);
        }
        self.marks.provide(first + n, &self.file).map_err(|_| NoSlot)?;
        make_ready(first)?;
        self.head.live_units.store(first + n, Ordering::Relaxed);
        Ok(first)
    }
}
