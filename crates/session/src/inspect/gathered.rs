//! Units of a live table with what is zero left out: of a table of 2 GiB that holds 4 million blocks of 1 KiB, 80 MiB.
//!
//! | | of the unit |
//! |---|---|
//! | a directory, or a table that one leads to | each slot's bytes that are not zero |
//! | slots of blocks | what a walk reads of it: see `is_read` in `live::walk` of `wire` |

use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::live::walk::{SlotBits, SlotWords, Unit, for_each_entry, is_read, slot_words};
use heapscribe_wire::live::{DIRECTORY_UNITS, SLOT_BYTES};

/// Bytes that are looked at together: nearly all are zero.
const GROUP_BYTES: usize = 64;
const GROUP_SLOTS: usize = GROUP_BYTES / SLOT_BYTES;

/// What a unit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A directory or a table.
    Entries,
    /// Slots of blocks.
    Slots,
}

/// The tables that directories lead to, sound or not, by number.
#[derive(Debug, Default)]
pub(super) struct Tables(Vec<u32>);

impl Tables {
    /// Those of these directories.
    pub(super) fn of(directories: &Gathered) -> Tables {
        let mut tables = Vec::new();
        for at in 0..directories.units.len() {
            for_each_entry(&directories.unit(at), |_, entry| tables.push(entry));
        }
        tables.sort_unstable();
        tables.dedup();
        Tables(tables)
    }

    /// What a unit is.
    pub(super) fn kind(&self, number: u32) -> Kind {
        match number < DIRECTORY_UNITS || self.0.binary_search(&number).is_ok() {
            true => Kind::Entries,
            false => Kind::Slots,
        }
    }
}

/// Units, in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    units: Vec<GatheredUnit>,
    slots: Vec<SlotWords>,
}

#[derive(Clone, Debug, Default)]
struct GatheredUnit {
    number: u32,
    first_slot: usize,
    present: SlotBits,
}

impl Gathered {
    /// Leaves out everything, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.units.clear();
        self.slots.clear();
    }

    /// Has memory for so many in it, each page touched, so that what comes in costs no page fault.
    pub(super) fn provide(&mut self, units: usize, slots: usize) {
        self.clear();
        self.units.resize(units, GatheredUnit::default());
        self.slots.resize(slots, [0; 2]);
        self.clear();
    }

    /// Adds what there is of a unit.
    pub(super) fn add(&mut self, number: u32, bytes: &[u8; LIVE_UNIT_BYTES], kind: Kind) {
        let (first_slot, mut present) = (self.slots.len(), SlotBits::default());
        let mut before = None;
        for (nth, group) in bytes.as_chunks::<GROUP_BYTES>().0.iter().enumerate() {
            if is_zero(group) {
                before = Some([0; 2]);
                continue;
            }
            for (slot, bytes) in group.as_chunks().0.iter().enumerate() {
                let words = slot_words(bytes);
                let is_needed = match kind {
                    Kind::Entries => words != [0; 2],
                    Kind::Slots => is_read(before, words),
                };
                if is_needed {
                    let at = nth * GROUP_SLOTS + slot;
                    present[at / 64] |= 1 << (at % 64);
                    self.slots.push(words);
                }
                before = Some(words);
            }
        }
        if self.slots.len() > first_slot {
            self.units.push(GatheredUnit { number, first_slot, present });
        }
    }

    /// The numbers of its units, in their order.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.units.iter().map(|unit| unit.number)
    }

    /// The unit at a place in that order.
    pub(super) fn unit(&self, at: usize) -> Unit<'_> {
        let Some(GatheredUnit { first_slot, present, .. }) = self.units.get(at) else { return Unit::Hole };
        Unit::Sparse { present, slots: self.slots.get(*first_slot..).unwrap_or_default() }
    }
}

fn is_zero(group: &[u8; GROUP_BYTES]) -> bool {
    let words = group.as_chunks().0.iter().map(|word| u128::from_ne_bytes(*word));
    words.fold(0, |all, word| all | word) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_wire::live::SIZE_ELSEWHERE;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const LIVE: u64 = 1 << 52;

    fn unit(slots: &[(usize, SlotWords)]) -> Box<[u8; LIVE_UNIT_BYTES]> {
        let mut bytes = Box::new([0; LIVE_UNIT_BYTES]);
        for (at, [word0, word1]) in slots {
            bytes[at * SLOT_BYTES..][..8].copy_from_slice(&word0.to_le_bytes());
            bytes[at * SLOT_BYTES + 8..][..8].copy_from_slice(&word1.to_le_bytes());
        }
        bytes
    }

    fn gathered(bytes: &[u8; LIVE_UNIT_BYTES], kind: Kind) -> Vec<(usize, SlotWords)> {
        let mut gathered = Gathered::default();
        gathered.add(7, bytes, kind);
        let mut slots = Vec::new();
        gathered.unit(0).for_each_slot(|at, words| slots.push((at, words)));
        slots
    }

    #[test]
    fn free_slots_are_left_out_and_sizes_after_large_blocks_are_not() {
        let (large, stale) = ([LIVE | SIZE_ELSEWHERE, 5], [0, 1 << 47]);
        let slots = [
            (0, stale),
            (1, stale),
            (9, [LIVE | 3, 9]),
            (10, stale),
            (500, large),
            (501, stale),
            (1023, large),
        ];
        let kept: Vec<_> = [0, 2, 4, 5, 6].map(|at| slots[at]).to_vec();
        assert_eq!(gathered(&unit(&slots), Kind::Slots), kept);
        assert_eq!(gathered(&unit(&slots), Kind::Entries), slots);
        assert_eq!(gathered(&unit(&[]), Kind::Slots), []);
    }

    #[test]
    fn memory_that_was_provided_holds_nothing() {
        let mut gathered = Gathered::default();
        gathered.provide(3, 5000);
        assert_eq!(gathered.numbers().count(), 0);
        gathered.add(4, &unit(&[(2, [LIVE, 1])]), Kind::Slots);
        gathered.add(5, &unit(&[]), Kind::Slots);
        gathered.add(6, &unit(&[(3, [LIVE, 2])]), Kind::Slots);
        assert_eq!(gathered.numbers().collect::<Vec<_>>(), [4, 6]);
        assert_eq!(gathered.unit(1).slot(3), [LIVE, 2]);
        assert_eq!([gathered.unit(0).slot(3), gathered.unit(9).slot(3)], [[0; 2]; 2]);
    }

    fn words() -> impl Strategy<Value = SlotWords> {
        let word0 =
            prop_oneof![Just(0u64), any::<u64>(), any::<u64>().prop_map(|w| w | LIVE | SIZE_ELSEWHERE)];
        let word1 = prop_oneof![Just(0u64), any::<u64>(), SIZE_ELSEWHERE - 1..SIZE_ELSEWHERE + 2];
        (word0, word1).prop_map(|(word0, word1)| [word0, word1])
    }

    proptest! {
        /// What a walk asks of a slot, of the whole unit and of what was gathered of it.
        #[test]
        fn nothing_is_missing_that_a_walk_reads(mut slots in vec((0..1024usize, words()), 0..200)) {
            slots.reverse();
            slots.sort_by_key(|(at, _)| *at);
            slots.dedup_by_key(|(at, _)| *at);
            let bytes = unit(&slots);
            let whole = Unit::Whole(&bytes);
            let mut gathered = Gathered::default();
            gathered.add(0, &bytes, Kind::Slots);
            gathered.add(1, &bytes, Kind::Entries);
            for at in 0..1024 {
                let (expected, found) = (whole.slot(at), gathered.unit(0).slot(at));
                let is_live = |words: SlotWords| words[0] & LIVE != 0;
                let is_size = |words: SlotWords| words[0] == 0 && words[1] >= SIZE_ELSEWHERE;
                let follows_large = at == 0 || whole.slot(at - 1)[0] & SIZE_ELSEWHERE == SIZE_ELSEWHERE;
                prop_assert_eq!(is_live(expected), is_live(found));
                if is_live(expected) || follows_large && is_size(expected) {
                    prop_assert_eq!(expected, found);
                }
                prop_assert_eq!(gathered.numbers().any(|n| n == 1), !slots.is_empty() && slots.iter().any(|s| s.1 != [0; 2]));
            }
            let (mut all, mut kept) = (Vec::new(), Vec::new());
            whole.for_each_slot(|at, words| all.push((at, words)));
            let at = gathered.numbers().position(|n| n == 1);
            at.map_or(Unit::Hole, |at| gathered.unit(at)).for_each_slot(|at, words| kept.push((at, words)));
            prop_assert_eq!(all, kept);
        }
    }
}
