//! Lifetimes of what is born in each leaf, of all keys together: a map of them asks for no more, and reads no leaf.

use std::io::{self, Write};

use super::local_sums::{ByBirth, LocalSums};
use crate::ages::AGES;
use crate::amount::Amount;
use crate::file::{Kind, SectionWriter};

/// Sums by leaf of birth.
#[derive(Debug)]
pub(super) struct LeafAges {
    allocated: Vec<Amount>,
    /// By class of lifetimes, of those that were freed.
    freed: Vec<[Amount; AGES]>,
}

impl LeafAges {
    /// Of so many leaves.
    pub(super) fn new(leaves: u32) -> LeafAges {
        let leaves = leaves as usize;
        LeafAges { allocated: vec![Amount::default(); leaves], freed: vec![Default::default(); leaves] }
    }

    /// Adds those of a chunk in a leaf.
    pub(super) fn add(&mut self, leaf: u32, sums: &LocalSums, survivors: &ByBirth) {
        let leaf = leaf as usize;
        sums.allocated().for_each(|amount| self.allocated[leaf].add(amount));
        sums.young().for_each(|(_, age, amount)| self.freed[leaf][usize::from(age)].add(amount));
        for ((birth_leaf, age, _), amount) in survivors {
            self.freed[*birth_leaf as usize][usize::from(*age)].add(*amount);
        }
    }

    /// Writes them.
    pub(super) fn write<W: Write>(&self, out: &mut SectionWriter<W>) -> io::Result<()> {
        let of_leaf = |(leaf, ages): (u64, &[Amount; AGES])| {
            let some = (0..).zip(*ages).filter(|(_, amount)| !amount.is_zero());
            some.map(move |(age, amount)| {
                let [blocks, bytes] = amount.columns();
                [leaf, age, blocks, bytes]
            })
        };
        let freed: Vec<[u64; 4]> = (0..).zip(&self.freed).flat_map(of_leaf).collect();
        out.section(Kind::Ages, 0, &freed)?;
        out.section(Kind::Allocated, 0, &self.allocated.iter().map(|sum| sum.columns()).collect::<Vec<_>>())
    }
}
