//! All blocks, one after the other, and whether everything that they say of each other is true. Takes as
//! long as there are blocks: for tests and reports, not for the running program.
#![allow(unsafe_code)]

use super::block::{Block, OVERHEAD, TOTAL_MIN};
use super::class::{COLUMNS, Class, GRANULE, ROWS};
use super::heap::Tlsf;

/// A block as a walk sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Where its contents are.
    pub address: usize,
    /// How many bytes they have.
    pub size_bytes: usize,
    /// Whether it is handed out.
    pub is_used: bool,
}

/// What is wrong with a heap, and at which block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// A block is too small, no multiple of 16, or goes beyond its pool.
    Size(usize),
    /// Two neighbours are free.
    NotJoined(usize),
    /// A block says of the one before it what is not so.
    Previous(usize),
    /// A list has a block that is used, of another class, or without its back link.
    List(usize),
    /// Free blocks that are in no list, or lists that have others: how many more lie in the pools.
    Lost(isize),
    /// A class has a block and its bit is clear, or the other way.
    Bits(usize),
    /// The counts are not what the pools hold: bytes used.
    Counts(usize),
}

impl Tlsf {
    /// Visits every block of every pool, from the newest pool on, by address within it.
    pub fn walk(&self, mut visit: impl FnMut(Piece)) {
        self.pools.for_each(|_, _, first| {
            let mut at = first;
            // SAFETY: totals lead from block to block to the end of the pool, whose total is 0.
            unsafe {
                while at.total() != 0 {
                    let address = at.0.as_ptr() as usize;
                    visit(Piece { address, size_bytes: at.total() - OVERHEAD, is_used: !at.is_free() });
                    at = at.next();
                }
            }
        });
    }

    /// Whether all that blocks, lists, bits and counts say is true.
    pub fn check(&self) -> Result<(), Flaw> {
        let (mut flaw, mut free, mut used, mut used_bytes) = (None, 0isize, 0, 0);
        self.pools.for_each(|_, end, first| {
            let seen = check_pool(first, end);
            flaw = flaw.or(seen.flaw);
            free += seen.free;
            used += seen.used;
            used_bytes += seen.used_bytes;
        });
        let mut listed = 0;
        for row in 0..ROWS as u32 {
            for column in 0..COLUMNS as u32 {
                match self.check_list(Class { row, column }, free) {
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
    fn check_list(&self, class: Class, most: isize) -> Result<isize, Flaw> {
        let (mut at, mut before, mut n) = (self.index.first(class), None, 0);
        if at.is_some() != self.index.says(class) {
            return Err(Flaw::Bits(class.row as usize * COLUMNS + class.column as usize));
        }
        while let Some(block) = at {
            // SAFETY: what is in a list is a block of this heap.
            unsafe {
                let [next, previous] = block.links().read();
                if !block.is_free() || Class::of(block.total()) != class || previous != before || n > most {
                    return Err(Flaw::List(block.0.as_ptr() as usize));
                }
                (at, before, n) = (next, Some(block), n + 1);
            }
        }
        Ok(n)
    }
}

/// What a pool holds.
#[derive(Default)]
struct Seen {
    flaw: Option<Flaw>,
    free: isize,
    used: u64,
    used_bytes: usize,
}

fn check_pool(first: Block, end: usize) -> Seen {
    let (mut at, mut is_previous_free, mut seen) = (first, false, Seen::default());
    // SAFETY: a block is looked at only when it lies in the pool.
    unsafe {
        loop {
            let (address, total) = (at.0.as_ptr() as usize, at.total());
            if at.is_previous_free() != is_previous_free {
                seen.flaw = seen.flaw.or(Some(Flaw::Previous(address)));
            }
            if total == 0 && address == end {
                return seen;
            }
            if total < TOTAL_MIN || total % GRANULE != 0 || total > end - address {
                seen.flaw = seen.flaw.or(Some(Flaw::Size(address)));
                return seen;
            }
            let is_free = at.is_free();
            if is_free && is_previous_free {
                seen.flaw = seen.flaw.or(Some(Flaw::NotJoined(address)));
            }
            if is_free && at.next().is_previous_free() && at.next().previous() != at {
                seen.flaw = seen.flaw.or(Some(Flaw::Previous(address)));
            }
            seen.free += isize::from(is_free);
            seen.used += u64::from(!is_free);
            seen.used_bytes += if is_free { 0 } else { total };
            (at, is_previous_free) = (at.next(), is_free);
        }
    }
}
