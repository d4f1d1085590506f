//! Blocks that died in a later leaf than that of their birth, by leaf of birth: a question that begins inside of a leaf
//! has to know each of them. They come by leaf of death; so they are kept until they fill their share of memory, and
//! are written in runs then.

use std::io::{self, Write};

use super::local_sums::LocalSums;
use crate::amount::Amount;
use crate::file::{Kind, SectionWriter};
use crate::key::KeyId;

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Survivor {
    /// Leaf of birth.
    birth_leaf: u32,
    /// ns after the begin of that leaf.
    birth_ns: u64,
    death_leaf: u32,
    key: KeyId,
    blocks: i64,
    bytes: i64,
}

/// Those that are not written yet.
#[derive(Debug)]
pub(super) struct Survivors {
    all: Vec<Survivor>,
    max: usize,
}

impl Survivors {
    /// In at most so many bytes of memory.
    pub(super) fn new(bytes_max: usize) -> Survivors {
        Survivors { all: Vec::new(), max: bytes_max / size_of::<Survivor>() }
    }

    /// Adds those of a chunk in a leaf, whose slots have these keys.
    pub(super) fn add(&mut self, death_leaf: u32, sums: &LocalSums, keys: &[KeyId]) {
        self.all.extend(sums.survivors().iter().map(|one| {
            let (key, Amount { blocks, bytes }) = (keys[one.slot as usize], one.amount);
            Survivor { birth_leaf: one.birth_leaf, birth_ns: one.birth_ns, death_leaf, key, blocks, bytes }
        }));
    }

    /// Whether it is time to write them.
    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= self.max
    }

    /// Writes them, a section for each leaf of birth.
    pub(super) fn write<W: Write>(&mut self, out: &mut SectionWriter<W>) -> io::Result<()> {
        self.all.sort_unstable();
        for of_leaf in self.all.chunk_by(|a, b| a.birth_leaf == b.birth_leaf) {
            let leaf = of_leaf[0].birth_leaf;
            let mut before_ns = 0;
            let row = |one: &Survivor| {
                let ns = one.birth_ns - before_ns;
                before_ns = one.birth_ns;
                let [blocks, bytes] = Amount { blocks: one.blocks, bytes: one.bytes }.columns();
                [ns, u64::from(one.death_leaf - leaf), u64::from(one.key.0), blocks, bytes]
            };
            out.section(Kind::Survivors, leaf, &of_leaf.iter().map(row).collect::<Vec<_>>())?;
        }
        self.all.clear();
        Ok(())
    }
}
