//! What the live table promises to those who write and to those who read it: what is written here is read
//! back by the walk that readers use, from the bytes of the file.
//!
//! The names are those of Fuchsia's heapdump, whose tables have the same meanings; where the others are:
//!
//! | what | where |
//! |---|---|
//! | insert twice, erase twice, out of space, bulk in both orders, replace, read empty and populated | here |
//! | bad bucket head, bad node | `heapscribe-wire/src/live/walk/tests.rs`: entries that lead nowhere |
//! | stacks: deduplication, out of space | `definitions/interner/tests.rs`: numbers are those of a map, without room |
//! | stacks too long (ours are cut, and counted) | `heapscribe/tests/e2e/life.rs`: depth |
//! | thread info, deltas of frames | `heapscribe-wire/tests/properties/definitions.rs` |
//! | varints, bad varints, zigzag | `heapscribe-wire/src/varint.rs` |
//! | recursion guard (ours counts, and passes) | `heapscribe/tests/e2e/life.rs`: signal handlers |
//! | mapped memory: uninitialized is zero, beyond the end | here: read empty, out of space |
//! | snapshots, contents, profiles | `heapscribe/tests/e2e/snapshot.rs` |

use std::collections::BTreeMap;

use heapscribe_wire::ids::{RateId, StackId, ThreadId};
use heapscribe_wire::live::walk::{Unit, Units, seen_words, walk};
use heapscribe_wire::live::{HEADER_SLOTS, UNIT_SLOTS, region_units};

use super::super::*;
use super::FIRST_UNIT;
use crate::tests::{file, head};

const SHIFT: u32 = GRANULE_SHIFT_GLIBC;

struct Table {
    live: LiveTable,
    head: &'static SharedHead,
    lock: Lock,
    caches: [LiveCache; 2],
    units: usize,
}

impl Units for Table {
    fn units(&self) -> u32 {
        self.head.live_units.load(Ordering::Relaxed)
    }

    fn unit(&self, number: u32) -> Unit<'_> {
        let is_there = (number as usize) < self.units && self.live.marks.is_present(number);
        // SAFETY: the unit is in the mapping and provided; nobody writes while it is read.
        is_there.then(|| unsafe { &*self.live.file.at(number as usize * LIVE_UNIT_BYTES).cast() }).into()
    }
}

impl Table {
    fn new(units: usize) -> Table {
        let head = head();
        let live = LiveTable::new(file(units * LIVE_UNIT_BYTES), SHIFT, head).unwrap();
        Table { live, head, lock: Lock::default(), caches: Default::default(), units }
    }

    /// As one of two threads.
    fn access(&self, thread: usize) -> Access<'_> {
        Access { cache: &self.caches[thread], lock: &self.lock }
    }

    /// Whether a block was there before.
    fn insert(&self, address: u64, size_bytes: u64) -> Result<bool, NoSlot> {
        let slot = slot(size_bytes);
        // SAFETY: no other thread has this table.
        unsafe { self.live.insert::<false>(address, slot, None, self.access(0)) }
    }

    fn erase(&self, address: u64) -> Option<u64> {
        self.erase_as(0, address)
    }

    fn erase_as(&self, thread: usize, address: u64) -> Option<u64> {
        // SAFETY: no other thread has this table.
        unsafe { self.live.remove::<false>(address, self.access(thread)) }.map(|slot| slot.size_bytes)
    }

    /// What a reader finds.
    fn read(&self) -> BTreeMap<u64, u64> {
        let mut found = BTreeMap::new();
        walk(self, SHIFT, &mut vec![0; seen_words(self.units())], |block| {
            let block = block.unwrap();
            let expected = Slot { upper_half: block.slot.upper_half, ..slot(block.slot.size_bytes) };
            assert_eq!(block.slot, expected);
            assert_eq!(found.insert(block.address.0, block.slot.size_bytes), None, "it is there twice");
        })
        .unwrap();
        found
    }
}

fn slot(size_bytes: u64) -> Slot {
    let (stack, thread) = (StackId(size_bytes as u32 & 0xffff), ThreadId(0xab_cdef));
    let birth_ticks = size_bytes.wrapping_mul(977) & 0xffff_ffff_ffff;
    Slot { size_bytes, stack, thread, birth_ticks, upper_half: false, rate: RateId(1) }
}

/// Units that the slots of so many blocks take.
fn slot_units(blocks: usize) -> u32 {
    blocks.div_ceil(UNIT_SLOTS - HEADER_SLOTS) as u32
}

/// Addresses of blocks that are 48 bytes apart, as far as so many lie in the second region.
fn addresses(n: u64) -> impl DoubleEndedIterator<Item = u64> {
    (0..n).map(|i| REGION_BYTES + 48 * i)
}

#[test]
fn a_block_can_not_be_inserted_or_erased_twice_unnoticed() {
    let table = Table::new(1024);
    assert_eq!(table.insert(0x1000, 1), Ok(false));
    assert_eq!(table.insert(0x1000, 2), Ok(true), "the first was not erased, and the writer knows");
    assert_eq!(table.read(), BTreeMap::from([(0x1000, 2)]));
    assert_eq!([table.erase(0x1000), table.erase(0x1000)], [Some(2), None]);
    assert_eq!(table.erase(0x1010), None, "nor one that never was");
    assert!(table.read().is_empty());
}

#[test]
fn an_empty_table_is_read_as_empty() {
    assert!(Table::new(64).read().is_empty());
}

#[test]
fn without_space_the_table_stays_usable_and_fits_again() {
    let inserted: Vec<u64> = addresses(87_381).collect();
    let units = FIRST_UNIT + 1 + region_units(SHIFT) + slot_units(inserted.len());
    let table = Table::new(units as usize);
    inserted.iter().for_each(|&address| assert_eq!(table.insert(address, address), Ok(false)));
    assert_eq!(table.insert(2 * REGION_BYTES, 1), Err(NoSlot), "there is room for one region");
    assert_eq!(table.read().len(), inserted.len());
    let last = inserted[inserted.len() - 1];
    assert_eq!(table.erase(last), Some(last));
    assert_eq!(table.insert(last, 3), Ok(false));
    assert_eq!(table.read()[&last], 3);
}

#[test]
fn inserted_and_erased_again_and_again() {
    let table = Table::new(1024);
    for i in 0..655_360u64 {
        assert_eq!(table.insert(0x1000, i), Ok(false));
        assert_eq!(table.erase(0x1000), Some(i));
    }
    assert!(table.read().is_empty());
}

fn check_bulk(erased: impl Iterator<Item = u64>) {
    let table = Table::new(1024);
    addresses(50_000).for_each(|address| assert_eq!(table.insert(address, address), Ok(false)));
    assert_eq!(table.read(), addresses(50_000).map(|address| (address, address)).collect());
    erased.for_each(|address| assert_eq!(table.erase(address), Some(address)));
    assert!(table.read().is_empty());
}

#[test]
fn many_are_erased_in_either_order() {
    check_bulk(addresses(50_000));
    check_bulk(addresses(50_000).rev());
}

/// At no moment of a replacement is a block there twice or with the words of another.
#[test]
fn a_block_is_replaced_before_in_and_after() {
    let table = Table::new(1024);
    table.insert(0x1000, 1).unwrap();
    table.insert(0x1040, 7).unwrap();
    assert_eq!(table.read(), BTreeMap::from([(0x1000, 1), (0x1040, 7)]));
    let entry = table.live.existing::<false>(0x1000, &table.caches[0]).unwrap();
    table.live.discard(entry, entry.load(Ordering::Relaxed), table.access(0));
    assert_eq!(table.read(), BTreeMap::from([(0x1040, 7)]), "in the middle it is nowhere");
    let filled = table.live.filled(slot(2).pack(), table.access(0)).unwrap();
    assert_eq!(table.read(), BTreeMap::from([(0x1040, 7)]), "nor with a slot to which no entry leads");
    entry.store(filled, Ordering::Release);
    assert_eq!(table.read(), BTreeMap::from([(0x1000, 2), (0x1040, 7)]));
    assert_eq!(table.insert(0x1000, 3), Ok(true));
    assert_eq!(table.read(), BTreeMap::from([(0x1000, 3), (0x1040, 7)]));
}

/// What one thread frees another allocates: without a way back each block took a slot of its own for ever.
#[test]
fn slots_go_from_the_thread_that_frees_to_the_one_that_allocates() {
    let table = Table::new(1024);
    let units = || table.head.live_units.load(Ordering::Relaxed);
    addresses(1000).for_each(|address| assert_eq!(table.insert(address, address), Ok(false)));
    let before = units();
    for _ in 0..100 {
        addresses(1000).for_each(|address| assert_eq!(table.erase_as(1, address), Some(address)));
        addresses(1000).for_each(|address| assert_eq!(table.insert(address, address), Ok(false)));
    }
    assert!(units() <= before + 1, "{} units after {before}", units());
    addresses(1000).rev().for_each(|address| assert_eq!(table.erase_as(1, address), Some(address)));
    assert!(table.read().is_empty());
}

/// The slots of blocks that were freed are used before new ones, so that memory is that of the most blocks at a time.
#[test]
fn as_many_slots_as_blocks_at_the_most() {
    let table = Table::new(1024);
    for round in 0..5 {
        addresses(50_000).for_each(|address| assert_eq!(table.insert(address, address), Ok(false)));
        let expected = FIRST_UNIT + 1 + region_units(SHIFT) + slot_units(50_000);
        assert_eq!(table.head.live_units.load(Ordering::Relaxed), expected, "round {round}");
        assert_eq!(table.read().len(), 50_000);
        addresses(50_000).for_each(|address| assert_eq!(table.erase(address), Some(address)));
    }
}

/// In a pool inside a pool, the size of the outer block stood where the entry of the inner one is: it was lost, and with it
/// what the free of the outer one freed.
#[test]
fn a_large_block_leaves_the_next_granule_alone() {
    let table = Table::new(1024);
    for (first, second) in [((0x1000, 5 << 40), (0x1020, 2)), ((0x1020, 2), (0x1000, 5 << 40))] {
        assert_eq!([first, second].map(|(address, size)| table.insert(address, size)), [Ok(false); 2]);
        assert_eq!(table.read(), BTreeMap::from([first, second]));
        assert_eq!(table.insert(0x1000, 6 << 40), Ok(true));
        assert_eq!([table.erase(0x1000), table.erase(0x1020)], [Some(6 << 40), Some(2)]);
    }
}

#[test]
fn a_huge_block_has_its_whole_size() {
    let table = Table::new(1024);
    for (address, size_bytes) in [(0x1000, 5 << 40), (2 * REGION_BYTES - 32, SIZE_ELSEWHERE)] {
        assert_eq!(table.insert(address, size_bytes), Ok(false));
        assert_eq!(table.read(), BTreeMap::from([(address, size_bytes)]));
        assert_eq!(table.erase(address), Some(size_bytes));
    }
}
