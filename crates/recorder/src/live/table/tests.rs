//! The table against a map of the blocks that were put into it.

mod semantics;

use std::collections::BTreeMap;

use heapscribe_wire::ids::{RateId, StackId, ThreadId};
use heapscribe_wire::live::{CHANGED, DIRECTORY_UNITS, UNCHANGED, mark_units, region_units};

use super::*;
use crate::live::live_cache::LiveCache;
use crate::tests::{file, head, random};

/// The first unit that is taken in files of fewer units than have their marks in one.
const FIRST_UNIT: u32 = DIRECTORY_UNITS + mark_units(LIVE_UNIT_BYTES);

/// The table and its twin, of which the twin knows a block by the place where its slot must be.
struct Both {
    live: LiveTable,
    head: &'static SharedHead,
    lock: Lock,
    caches: [LiveCache; 2],
    twin: BTreeMap<(u64, u64), (u64, Slot)>,
    random: u64,
}

impl Both {
    fn new(units: usize, granule_shift: u32) -> Both {
        let (head, lock) = (head(), Lock::default());
        let live = LiveTable::new(file(units * LIVE_UNIT_BYTES), granule_shift, head).unwrap();
        Both { live, head, lock, caches: Default::default(), twin: BTreeMap::new(), random: 1 }
    }

    /// As one of two threads.
    fn access(&self, thread: u64) -> Access<'_> {
        Access { cache: &self.caches[thread as usize % 2], lock: &self.lock }
    }

    fn place(&self, address: u64) -> (u64, u64) {
        (address & 8, address >> self.live.granule_shift)
    }

    fn random(&mut self, end: u64) -> u64 {
        random(&mut self.random) % end
    }

    /// An address in one of few regions, so that blocks meet: near each other, and near their ends.
    /// On glibc blocks start at multiples of 16.
    fn address(&mut self) -> u64 {
        let region = [1, 2, 3, 0x1000, 0x1001, ADDRESS_END / REGION_BYTES - 2][self.random(6) as usize];
        let near = [0, 0x1_8000, REGION_BYTES - 1024][self.random(3) as usize];
        let mask = if self.live.granule_shift == GRANULE_SHIFT_GLIBC { !15 } else { !7 };
        region * REGION_BYTES + near + (self.random(1024) & mask)
    }

    fn slot(&mut self) -> Slot {
        let size_bytes = match self.random(8) {
            0 => SIZE_ELSEWHERE - 1 + self.random(3),
            1 => (64 << 20) + self.random(1 << 39),
            _ => self.random(5000),
        };
        let (stack, thread) = (StackId(self.random(1 << 26) as u32), ThreadId(self.random(1 << 24) as u32));
        Slot {
            size_bytes,
            stack,
            thread,
            birth_ticks: self.random(1 << 40),
            upper_half: false,
            rate: RateId(self.random(4) as u8),
        }
    }

    fn insert(&mut self) {
        let (address, mut slot) = (self.address(), self.slot());
        // SAFETY: no other thread has this table.
        let replaced =
            unsafe { self.live.insert::<false>(address, slot, None, self.access(slot.size_bytes)) };
        slot.upper_half = self.live.granule_shift == GRANULE_SHIFT_GLIBC && address & 16 != 0;
        let twin = self.twin.insert(self.place(address), (address, slot));
        assert_eq!(replaced, Ok(twin.is_some()), "{address:#x}");
    }

    fn insert_pool(&mut self) {
        let (address, slot) = (self.address(), Slot { size_bytes: 7, ..self.slot() });
        // SAFETY: no other thread has this table.
        unsafe {
            self.live.insert::<true>(
                address,
                slot,
                None,
                Access { cache: &LiveCache::default(), lock: &self.lock },
            )
        }
        .unwrap();
    }

    fn unit(&self, unit: u32) -> Vec<u8> {
        let begin = self.live.file.at(unit as usize * LIVE_UNIT_BYTES);
        // SAFETY: the unit has pages, and nobody writes meanwhile.
        unsafe { core::slice::from_raw_parts(begin, LIVE_UNIT_BYTES) }.to_vec()
    }

    /// Does as a reader: each unit is called unchanged, and copied.
    fn mark_unchanged(&self) -> Vec<(u32, Vec<u8>)> {
        let units = self.head.live_units.load(Ordering::Relaxed);
        let are_there = (0..units).filter(|unit| self.live.marks.is_present(*unit));
        let mark = |unit: u32| {
            self.live.marks.get(unit).unwrap().store(UNCHANGED, Ordering::Relaxed);
            (unit, self.unit(unit))
        };
        are_there.map(mark).collect()
    }

    fn take(&mut self, address: u64) {
        // SAFETY: no other thread has this table.
        let taken = unsafe { self.live.remove::<false>(address, self.access(address >> 3)) };
        let place = self.place(address);
        let known = self.twin.get(&place).filter(|(known, _)| *known == address).map(|(_, slot)| *slot);
        assert_eq!(taken, known, "{address:#x}");
        if known.is_some() {
            self.twin.remove(&place);
        }
    }
}

fn check_against_twin(granule_shift: u32) {
    let mut both = Both::new(16_384, granule_shift);
    for _ in 0..200_000 {
        match both.random(2) {
            0 => both.insert(),
            _ => {
                let taken = both.address();
                both.take(taken);
            }
        }
    }
    assert!(both.twin.len() > 200, "too few blocks to say anything");
    let left: Vec<u64> = both.twin.values().map(|(address, _)| *address).collect();
    for _twice in 0..2 {
        left.iter().for_each(|&address| both.take(address));
    }
}

/// What a reader copies is what it was when it has come back, but for units whose mark was taken away.
#[test]
fn no_unit_changes_without_its_mark() {
    for granule_shift in [GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER] {
        let (mut both, mut unchanged) = (Both::new(16_384, granule_shift), 0);
        for round in 0..2000 {
            let copies = both.mark_unchanged();
            for _ in 0..both.random(1 + round % 8) {
                match both.random(3) {
                    0 => both.insert_pool(),
                    1 => both.insert(),
                    _ => {
                        let taken = both.address();
                        both.take(taken);
                    }
                }
            }
            for (unit, bytes) in copies {
                let mark = both.live.marks.get(unit).unwrap().load(Ordering::Relaxed);
                assert!(mark == CHANGED || both.unit(unit) == bytes, "unit {unit} of round {round}");
                unchanged += usize::from(mark == UNCHANGED);
            }
        }
        assert!(unchanged > 1000, "too few to say anything");
    }
}

#[test]
fn blocks_are_those_of_a_map() {
    check_against_twin(GRANULE_SHIFT_GLIBC);
    check_against_twin(GRANULE_SHIFT_OTHER);
}

#[test]
fn without_room_or_beyond_all_addresses_there_is_no_slot() {
    let units = FIRST_UNIT + 2 + region_units(GRANULE_SHIFT_OTHER);
    let mut both = Both::new(units as usize, GRANULE_SHIFT_OTHER);
    for (address, has_room) in
        [(0x1000, true), (REGION_BYTES + 0x1000, false), (0x2000, true), (ADDRESS_END, false)]
    {
        let slot = Slot { size_bytes: 1, ..both.slot() };
        // SAFETY: no other thread has this table.
        let inserted = unsafe { both.live.insert::<false>(address, slot, None, both.access(0)) };
        assert_eq!(inserted, if has_room { Ok(false) } else { Err(NoSlot) }, "{address:#x}");
        assert_eq!(
            // SAFETY: no other thread has this table.
            unsafe { both.live.remove::<false>(address, both.access(1)) },
            has_room.then_some(slot)
        );
    }
    assert_eq!(both.head.live_units.load(Ordering::Relaxed), units);
}

/// A file that ends behind the directory: no search finds a page, nor takes units of the table.
#[test]
fn without_pages_they_are_seldom_looked_for() {
    let mut both = Both::new(1 << 15, GRANULE_SHIFT_OTHER);
    both.live.file = file(DIRECTORY_UNITS as usize * LIVE_UNIT_BYTES);
    for n in 0..20_000 {
        let slot = both.slot();
        // SAFETY: no other thread has this table.
        let inserted = unsafe { both.live.insert::<false>(0x1000 + 16 * n, slot, None, both.access(0)) };
        assert_eq!(inserted, Err(NoSlot));
    }
    assert_eq!(both.live.refusals.failures(), 15, "after 1, 2, 4, .. calls");
    assert_eq!(both.head.live_units.load(Ordering::Relaxed), 0);
}

/// A file that ends behind the first region, so that a far one finds no page for its table. While room is not looked
/// for, blocks that have a slot are still found, freed and replaced by those that are allocated there next.
#[test]
fn a_refusal_leaves_the_blocks_that_have_slots_alone() {
    for shift in [GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER] {
        let (near, far) = (0x1000, 1 << 40);
        let mut both = Both::new(1 << 15, shift);
        let units = FIRST_UNIT + 2 + region_units(shift);
        both.live.file = file(units as usize * LIVE_UNIT_BYTES);
        let slot = Slot { size_bytes: 48, ..both.slot() };
        // Each call by a thread that comes new, or has not found the region before.
        let insert = |address| {
            // SAFETY: no other thread has this table.
            unsafe {
                both.live.insert::<false>(
                    address,
                    slot,
                    None,
                    Access { cache: &LiveCache::default(), lock: &both.lock },
                )
            }
        };
        let remove = |address| {
            // SAFETY: no other thread has this table.
            unsafe {
                both.live.remove::<false>(address, Access { cache: &LiveCache::default(), lock: &both.lock })
            }
        };
        assert_eq!([insert(near), insert(near + 64)], [Ok(false); 2]);
        // A search, a call without one, a search, and calls without one.
        assert_eq!([insert(far), insert(far), insert(far), insert(far + 64)], [Err(NoSlot); 4]);
        assert_eq!(remove(near), Some(slot));
        assert_eq!(remove(near), None);
        assert_eq!(insert(near), Ok(false));
        assert_eq!(insert(near + 64), Ok(true));
        assert_eq!([remove(near + 64), remove(near)], [Some(slot); 2]);
        assert_eq!([remove(far), remove(far + 64)], [None; 2]);
    }
}

#[test]
fn a_pool_and_its_first_block_are_two_blocks() {
    for shift in [GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER] {
        let mut both = Both::new(2048, shift);
        let address = 5 * REGION_BYTES + 0x1230;
        let slot = both.slot();
        let (heap, pool) = (Slot { size_bytes: 4096, ..slot }, Slot { size_bytes: 64, ..slot });
        let (live, of_heap, of_pools) = (&both.live, both.access(0), both.access(1));
        // SAFETY: no other thread has this table.
        let inserted = unsafe {
            [
                live.insert::<false>(address, heap, None, of_heap),
                live.insert::<true>(address, pool, None, of_pools),
            ]
        };
        assert_eq!(inserted, [Ok(false); 2]);
        let mut extents = Vec::new();
        live.for_each_extent(both.head.live_units.load(Ordering::Relaxed), |at, n| extents.push((at, n)));
        let bytes: usize = extents.iter().map(|(_, n)| n).sum();
        assert_eq!(
            bytes,
            7 * LIVE_UNIT_BYTES,
            "two directories, two tables, two units of entries, one of slots: {extents:?}"
        );
        // SAFETY: no other thread has this table.
        let taken =
            unsafe { [live.remove::<true>(address, of_pools), live.remove::<true>(address, of_pools)] };
        assert_eq!(taken.map(|slot| slot.map(|slot| slot.size_bytes)), [Some(64), None]);
        // SAFETY: no other thread has this table.
        let left = unsafe { live.remove::<false>(address, of_heap) };
        assert_eq!(left.map(|slot| slot.size_bytes), Some(4096));
    }
}
