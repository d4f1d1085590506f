//! All blocks, one after the other, and whether their headers, lists, bitmaps and counts agree. Takes as long as
//! there are blocks: for tests and reports, not for the running program.
#![allow(unsafe_code)]

use super::allocator::Tlsf;
use super::block::{Block, OVERHEAD, TOTAL_MIN};
use super::size_class::{FIRST_LEVELS, GRANULE, SECOND_LEVELS, SizeClass};

/// A block as a walk sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkedBlock {
    /// Where its contents are.
    pub address: usize,
    /// How many bytes they have.
    pub size_bytes: usize,
    /// Whether it is allocated.
    pub is_used: bool,
}

/// What is wrong with a heap, and at which block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// A block is too small, no multiple of 16, or goes beyond its pool.
    Size(usize),
    /// Two neighbours are free and were not merged.
    NotMerged(usize),
    /// A block's header is wrong about the one before it.
    Previous(usize),
    /// A list has a block that is used, of another class, or without its back link.
    List(usize),
    /// Free blocks that are in no list, or lists that have others: how many more are in the pools.
    Lost(isize),
    /// A class has a block and its bit is clear, or the other way: the number of the class.
    Bits(usize),
    /// The counts are not what the pools hold: bytes used.
    Counts(usize),
}

impl Tlsf {
    /// Visits every block of every pool, from the newest pool on, by address within it.
    pub fn walk(&self, mut visit: impl FnMut(WalkedBlock)) {
        self.pools.for_each(|_, _, first| {
            let mut at = first;
            // SAFETY: totals lead from block to block to the end of the pool, whose total is 0.
            unsafe {
                while at.total() != 0 {
                    let address = at.0.as_ptr() as usize;
                    visit(WalkedBlock { address, size_bytes: at.total() - OVERHEAD, is_used: !at.is_free() });
                    at = at.next();
                }
            }
        });
    }

    /// Checks that headers, lists, bitmaps and counts agree.
    pub fn check(&self) -> Result<(), Flaw> {
        let (mut flaw, mut free, mut used, mut used_bytes) = (None, 0isize, 0, 0);
        self.pools.for_each(|_, end, first| {
            let counts = check_pool(first, end);
            flaw = flaw.or(counts.flaw);
            free += counts.free;
            used += counts.used;
            used_bytes += counts.used_bytes;
        });
        let mut listed = 0;
        for first_level in 0..FIRST_LEVELS as u32 {
            for second_level in 0..SECOND_LEVELS as u32 {
                match self.check_list(SizeClass { first_level, second_level }, free) {
                    Ok(n) => listed += n,
                    Err(wrong) => flaw = flaw.or(Some(wrong)),
                }
            }
        }
        let stats = self.stats();
        if flaw.is_none() && free != listed {
            flaw = Some(Flaw::Lost(free - listed));
        }
        let is_counted =
            (stats.used_bytes, stats.blocks, stats.free_blocks) == (used_bytes as u64, used, free as u64);
        if flaw.is_none() && !is_counted {
            flaw = Some(Flaw::Counts(used_bytes));
        }
        flaw.map_or(Ok(()), Err)
    }

    /// How many blocks a class's list has; more than `most` is a ring.
    fn check_list(&self, class: SizeClass, most: isize) -> Result<isize, Flaw> {
        let (mut at, mut before, mut n) = (self.free_lists.head(class), None, 0);
        if at.is_some() != self.free_lists.is_marked(class) {
            let number = class.first_level as usize * SECOND_LEVELS + class.second_level as usize;
            return Err(Flaw::Bits(number));
        }
        while let Some(block) = at {
            // SAFETY: what is in a list is a block of this heap.
            unsafe {
                let [next, previous] = block.links().read();
                let is_of_class = SizeClass::mapping_insert(block.total()) == class;
                if !block.is_free() || !is_of_class || previous != before || n > most {
                    return Err(Flaw::List(block.0.as_ptr() as usize));
                }
                (at, before, n) = (next, Some(block), n + 1);
            }
        }
        Ok(n)
    }
}

/// What a walk through a pool has counted.
#[derive(Default)]
struct PoolCounts {
    flaw: Option<Flaw>,
    free: isize,
    used: u64,
    used_bytes: usize,
}

fn check_pool(first: Block, end: usize) -> PoolCounts {
    let (mut at, mut is_previous_free, mut counts) = (first, false, PoolCounts::default());
    // SAFETY: a block is looked at only when it lies in the pool.
    unsafe {
        loop {
            let (address, total) = (at.0.as_ptr() as usize, at.total());
            if at.is_previous_free() != is_previous_free {
                counts.flaw = counts.flaw.or(Some(Flaw::Previous(address)));
            }
            if total == 0 && address == end {
                return counts;
            }
            if total < TOTAL_MIN || total % GRANULE != 0 || total > end - address {
                counts.flaw = counts.flaw.or(Some(Flaw::Size(address)));
                return counts;
            }
            let is_free = at.is_free();
            if is_free && is_previous_free {
                counts.flaw = counts.flaw.or(Some(Flaw::NotMerged(address)));
            }
            if is_free && at.next().is_previous_free() && at.next().previous() != at {
                counts.flaw = counts.flaw.or(Some(Flaw::Previous(address)));
            }
            counts.free += isize::from(is_free);
            counts.used += u64::from(!is_free);
            counts.used_bytes += if is_free { 0 } else { total };
            (at, is_previous_free) = (at.next(), is_free);
        }
    }
}
