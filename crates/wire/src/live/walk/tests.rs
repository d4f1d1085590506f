//! The walk over tables that are made by hand, sound ones and hostile ones.

use std::collections::BTreeMap;

use super::*;
use crate::ids::{RateId, StackId, ThreadId};
use crate::live::{ADDRESS_END, HEADER_SLOTS, TABLE_ENTRIES};

/// An entry of a directory, a table or a region.
fn entry(unit: &Unit<'_>, at: usize) -> u32 {
    entries(unit.slot(at / SLOT_ENTRIES))[at % SLOT_ENTRIES]
}

/// A live file with a table of its own and a writer's notion of it.
#[derive(Default)]
struct File {
    units: BTreeMap<u32, Box<[u8; LIVE_UNIT_BYTES]>>,
    used: u32,
    /// The slots of the last unit of slots that are taken: up to which number.
    slots: u32,
}

impl Units for File {
    fn units(&self) -> u32 {
        self.used
    }

    fn unit(&self, number: u32) -> Unit<'_> {
        self.units.get(&number).map(Box::as_ref).into()
    }
}

impl File {
    fn new() -> File {
        File { used: DIRECTORY_UNITS, ..File::default() }
    }

    fn put(&mut self, unit: u32, at: usize, bytes: &[u8]) {
        let unit = self.units.entry(unit).or_insert_with(|| Box::new([0; LIVE_UNIT_BYTES]));
        unit[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Where an entry leads; to new units when it led nowhere.
    fn led(&mut self, unit: u32, index: usize, n: u32) -> u32 {
        let (unit, index) = (unit + (index / UNIT_ENTRIES) as u32, index % UNIT_ENTRIES);
        let found = entry(&self.unit(unit), index);
        if found != 0 {
            return found;
        }
        let first = self.used;
        self.used += n;
        self.put(unit, 4 * index, &first.to_le_bytes());
        first
    }

    /// Where the entry of a granule stands: unit and byte.
    fn entry_place(&mut self, path: Path, shift: u32) -> (u32, usize) {
        let table = self.led(0, path.directory, 1);
        let region = self.led(table, path.table, region_units(shift));
        (region + (path.granule / UNIT_ENTRIES) as u32, path.granule % UNIT_ENTRIES * ENTRY_BYTES)
    }

    /// A slot with these words.
    fn filled(&mut self, words: [u64; 2]) -> u32 {
        if self.slots.is_multiple_of(UNIT_SLOTS as u32) {
            self.slots = self.used * UNIT_SLOTS as u32 + HEADER_SLOTS as u32;
            self.used += 1;
        }
        let slot = self.slots;
        self.slots += 1;
        self.put_slot(slot, words);
        slot
    }

    fn put_slot(&mut self, slot: u32, words: [u64; 2]) {
        let at = slot as usize % UNIT_SLOTS * SLOT_BYTES;
        self.put(unit_of_slot(slot), at, &words[0].to_le_bytes());
        self.put(unit_of_slot(slot), at + 8, &words[1].to_le_bytes());
    }

    fn insert_at(&mut self, path: Path, shift: u32, words: [u64; 2]) {
        let (unit, at) = self.entry_place(path, shift);
        let slot = self.filled(words);
        self.put(unit, at, &slot.to_le_bytes());
    }

    fn insert(&mut self, block: Live, granule_shift: u32) {
        let (shift, of): (u32, fn(HeapAddress, u32) -> Path) = match block.is_pool {
            true => (GRANULE_SHIFT_OTHER, |address, _| Path::of_pool(address)),
            false => (granule_shift, Path::of),
        };
        let path = of(block.address, shift);
        let size_bytes = block.slot.size_bytes;
        if size_bytes < SIZE_ELSEWHERE {
            return self.insert_at(path, shift, block.slot.pack());
        }
        let slot = self.filled(block.slot.pack());
        self.insert_at(path, shift, LargeBlock { slot, size_bytes }.pack());
    }

    fn read(&self, granule_shift: u32) -> (Vec<Live>, Vec<TableError>) {
        let (mut blocks, mut errors) = (Vec::new(), Vec::new());
        let mut seen = vec![!0; seen_words(self.used)];
        walk(self, granule_shift, &mut seen, |found| match found {
            Ok(block) => blocks.push(block),
            Err(error) => errors.push(error),
        })
        .unwrap();
        (blocks, errors)
    }
}

fn block(address: u64, size_bytes: u64) -> Live {
    Live {
        address: HeapAddress(address),
        is_pool: false,
        slot: Slot {
            size_bytes,
            stack: StackId(address as u32 & 0xff),
            thread: ThreadId(0x12_3456),
            birth_ticks: address << 3 & 0xffff_ffff,
            upper_half: false,
            rate: RateId(size_bytes as u8 & 3),
        },
    }
}

const NEAR_THE_END: u64 = ADDRESS_END - 64;

fn populated(granule_shift: u32) -> (File, Vec<Live>) {
    let mut blocks: Vec<Live> =
        [0x1000, 0x1040, 0x40_0000 - (1 << granule_shift), 0x5555_5555_8000, 0x7f00_0000_0040, NEAR_THE_END]
            .into_iter()
            .zip([0, 1, 5 << 40, 4096, SIZE_ELSEWHERE, SIZE_ELSEWHERE - 1])
            .map(|(address, size_bytes)| block(address, size_bytes))
            .collect();
    if granule_shift == GRANULE_SHIFT_GLIBC {
        blocks[1].address.0 |= 16;
        blocks[1].slot.upper_half = true;
    }
    blocks.push(Live { is_pool: true, ..block(0x1000, 77) });
    blocks.push(Live { is_pool: true, ..block(0x1010, 1 << 30) });
    let mut file = File::new();
    blocks.iter().for_each(|block| file.insert(*block, granule_shift));
    (file, blocks)
}

#[test]
fn an_empty_table_has_no_blocks() {
    assert_eq!(File::new().read(GRANULE_SHIFT_GLIBC), (vec![], vec![]));
    assert_eq!(File::default().read(GRANULE_SHIFT_OTHER), (vec![], vec![]));
}

#[test]
fn every_field_of_every_block_is_read_once() {
    for shift in [GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER] {
        let (file, blocks) = populated(shift);
        assert_eq!(file.read(shift), (blocks, vec![]));
    }
}

#[test]
fn neighbours_eight_bytes_apart_are_two_blocks() {
    let mut file = File::new();
    let both = [block(0x2000, 8), block(0x2008, 8)];
    both.iter().for_each(|block| file.insert(*block, GRANULE_SHIFT_OTHER));
    assert_eq!(file.read(GRANULE_SHIFT_OTHER), (both.to_vec(), vec![]));
}

/// A sound table with one entry set to something else: what is said of it, and how many blocks are left.
fn check_hostile(change: impl FnOnce(&mut File), offset: u64, what: &'static str, blocks: usize) {
    let (mut file, _) = populated(GRANULE_SHIFT_OTHER);
    change(&mut file);
    let (read, errors) = file.read(GRANULE_SHIFT_OTHER);
    assert_eq!(errors, [TableError::InvalidInput { offset, what }]);
    assert_eq!(read.len(), blocks);
}

#[test]
fn entries_that_lead_out_of_the_file_are_errors() {
    let what = "entry that leads out of the file";
    for bad in [1u32, DIRECTORY_UNITS - 1, u32::MAX, 100_000] {
        check_hostile(|file| file.put(0, 0, &bad.to_le_bytes()), 0, what, 5);
    }
    let table = DIRECTORY_UNITS;
    let (file, _) = populated(GRANULE_SHIFT_OTHER);
    for bad in [1u32, u32::MAX - 3, file.used - 1] {
        check_hostile(|file| file.put(table, 0, &bad.to_le_bytes()), place(table, 0), what, 5);
    }
}

#[test]
fn an_entry_can_not_lead_where_another_has_led() {
    let what = "entry that leads where another has led already";
    let table = DIRECTORY_UNITS;
    // To the table itself, to the first region a second time, into the middle of it.
    for (bad, at) in [(table, 9), (table + 1, 9), (table + 7, 10)] {
        let change = |file: &mut File| file.put(table, 4 * at, &u32::to_le_bytes(bad));
        check_hostile(change, place(table, 4 * at), what, 8);
    }
    let again = |file: &mut File| file.put(0, 4, &table.to_le_bytes());
    check_hostile(again, 4, what, 8);
}

#[test]
fn a_file_of_nothing_but_one_number_ends_and_says_so() {
    let mut file = File::new();
    file.used = 3000;
    let bytes: Vec<u8> = 8u32.to_le_bytes().repeat(LIVE_UNIT_BYTES / 4);
    (0..file.used).for_each(|unit| file.put(unit, 0, &bytes));
    let (blocks, errors) = file.read(GRANULE_SHIFT_OTHER);
    assert_eq!((blocks.len(), errors.len()), (0, 2 * DIRECTORY_ENTRIES - 1 + TABLE_ENTRIES));
}

/// An entry of a region that leads out of the file, into a directory, or where that of another block leads.
#[test]
fn an_entry_of_a_region_leads_to_a_slot_of_its_own() {
    let shift = GRANULE_SHIFT_OTHER;
    let (mut file, _) = populated(shift);
    let path = Path::of(HeapAddress(0x1000), shift);
    let (unit, at) = file.entry_place(path, shift);
    let first = entry(&file.unit(unit), at / ENTRY_BYTES);
    let (next, past_all) = (at + 0x40 / 16 * ENTRY_BYTES, file.used * UNIT_SLOTS as u32);
    let out = "entry that leads out of the file";
    for bad in [past_all, u32::MAX, 1, DIRECTORY_UNITS * UNIT_SLOTS as u32 - 1] {
        check_hostile(|file| file.put(unit, next, &bad.to_le_bytes()), place(unit, next), out, 7);
    }
    let again = "entry that leads where another has led already";
    check_hostile(|file| file.put(unit, next, &first.to_le_bytes()), place(unit, next), again, 7);
}

#[test]
fn an_entry_that_leads_to_a_free_slot_is_no_block() {
    let (mut file, blocks) = populated(GRANULE_SHIFT_OTHER);
    file.insert_at(Path::of(HeapAddress(0x2000), GRANULE_SHIFT_OTHER), GRANULE_SHIFT_OTHER, [0, 0]);
    assert_eq!(file.read(GRANULE_SHIFT_OTHER), (blocks, vec![]));
}

#[test]
fn a_large_block_has_a_size_and_a_size_a_block() {
    let shift = GRANULE_SHIFT_OTHER;
    let path = Path::of(HeapAddress(0x3000), shift);
    let large = Slot { size_bytes: SIZE_ELSEWHERE, ..block(0x3000, 0).slot };
    let (mut file, _) = populated(shift);
    let (unit, at) = file.entry_place(path, shift);
    let check = |change: &dyn Fn(&mut File), what| check_hostile(change, place(unit, at), what, 8);
    check(&|file| file.insert_at(path, shift, large.pack()), "block whose size is missing");
    let with_size_of = |words| {
        move |file: &mut File| {
            let slot = file.filled(words);
            file.insert_at(path, shift, LargeBlock { slot, size_bytes: 1 << 40 }.pack());
        }
    };
    check(&with_size_of([0, 0]), "size that is no block's");
    check(&with_size_of(block(0x3000, 5).slot.pack()), "size that is no block's");
    let size = |slot| LargeBlock { slot, size_bytes: 1 << 40 }.pack();
    check(&with_size_of(size(1)), "size that is no block's");
    check(&|file| file.insert_at(path, shift, size(u32::MAX)), "entry that leads out of the file");
    let itself = |file: &mut File| {
        let slot = file.filled([0, 0]);
        file.put_slot(slot, size(slot));
        file.put(unit, at, &slot.to_le_bytes());
    };
    check(
        &|file| {
            file.entry_place(path, shift);
            itself(file);
        },
        "entry that leads where another has led already",
    );
}

#[test]
fn files_of_no_length_that_a_table_has_are_refused_by_name() {
    let read = |used: u32, room: usize, shift: u32| {
        let file = File { used, ..File::default() };
        walk(&file, shift, &mut vec![0; room], |_| panic!("nothing is visited"))
    };
    assert_eq!(read(7, 1, 4), Err(TableError::TooSmall { units: 7 }));
    let most = LIVE_UNITS_MAX as u32;
    assert_eq!(read(most + 1, 1 << 16, 4), Err(TableError::TooBig { units: most + 1 }));
    assert_eq!(read(65, seen_words(65) - 1, 4), Err(TableError::OutOfSpace { units: 64 }));
    let what = "unknown distance of blocks";
    assert_eq!(read(8, seen_words(8), 6), Err(TableError::InvalidInput { offset: 0, what }));
    assert_eq!(read(64, seen_words(64), 4), Ok(()));
}
