//! Units of a live table with what is zero left out, by pieces of the size of a slot: entries of granules in which no block
//! begins, and slots that were never used.

use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::live::SLOT_BYTES;
use heapscribe_wire::live::walk::{SlotBits, SlotWords, Unit, slot_words};

/// Bytes that are looked at together: nearly all are zero.
const GROUP_BYTES: usize = 64;
const GROUP_SLOTS: usize = GROUP_BYTES / SLOT_BYTES;

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
    pub(super) fn add(&mut self, number: u32, bytes: &[u8; LIVE_UNIT_BYTES]) {
        let (first_slot, mut present) = (self.slots.len(), SlotBits::default());
        for (nth, group) in bytes.as_chunks::<GROUP_BYTES>().0.iter().enumerate() {
            if is_zero(group) {
                continue;
            }
            for (slot, bytes) in group.as_chunks().0.iter().enumerate() {
                let words = slot_words(bytes);
                if words != [0; 2] {
                    let at = nth * GROUP_SLOTS + slot;
                    present[at / 64] |= 1 << (at % 64);
                    self.slots.push(words);
                }
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
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn unit(slots: &[(usize, SlotWords)]) -> Box<[u8; LIVE_UNIT_BYTES]> {
        let mut bytes = Box::new([0; LIVE_UNIT_BYTES]);
        for (at, [word0, word1]) in slots {
            bytes[at * SLOT_BYTES..][..8].copy_from_slice(&word0.to_le_bytes());
            bytes[at * SLOT_BYTES + 8..][..8].copy_from_slice(&word1.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn memory_that_was_provided_holds_nothing() {
        let mut gathered = Gathered::default();
        gathered.provide(3, 5000);
        assert_eq!(gathered.numbers().count(), 0);
        gathered.add(4, &unit(&[(2, [5, 1])]));
        gathered.add(5, &unit(&[]));
        gathered.add(6, &unit(&[(3, [0, 2])]));
        assert_eq!(gathered.numbers().collect::<Vec<_>>(), [4, 6]);
        assert_eq!(gathered.unit(1).slot(3), [0, 2]);
        assert_eq!([gathered.unit(0).slot(3), gathered.unit(9).slot(3)], [[0; 2]; 2]);
    }

    fn words() -> impl Strategy<Value = SlotWords> {
        let word = || prop_oneof![Just(0u64), any::<u64>()];
        (word(), word()).prop_map(|(word0, word1)| [word0, word1])
    }

    proptest! {
        /// What a walk asks of a slot, of the whole unit and of what was gathered of it.
        #[test]
        fn nothing_is_missing_that_is_not_zero(slots in vec((0..1024usize, words()), 0..200)) {
            let bytes = unit(&slots);
            let whole = Unit::Whole(&bytes);
            let mut gathered = Gathered::default();
            gathered.add(0, &bytes);
            for at in 0..1024 {
                prop_assert_eq!(whole.slot(at), gathered.unit(0).slot(at));
            }
            let (mut all, mut kept) = (Vec::new(), Vec::new());
            whole.for_each_slot(|at, words| all.push((at, words)));
            gathered.unit(0).for_each_slot(|at, words| kept.push((at, words)));
            prop_assert_eq!(&all, &kept);
            prop_assert_eq!(gathered.numbers().count(), usize::from(!all.is_empty()));
        }
    }
}
