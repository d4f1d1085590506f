//! The live table, read: from the directories over tables and regions to the slots of a copy of the file, and
//! from each entry of a region back to the address of its block.
//!
//! Whoever wrote the table may have meant harm, or died in the middle of a word. So each number of a unit or a slot
//! is checked before it is followed, each is visited once - entries that lead where another has led
//! already are reported and passed over, so that a small file cannot make a reader work for long, and no block counts
//! twice - and what makes no sense is reported with its place in the file, while the walk continues.

use core::fmt;

use super::{
    DIRECTORY_ENTRIES, DIRECTORY_UNITS, ENTRY_BYTES, GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER, LargeBlock,
    Path, SIZE_ELSEWHERE, SLOT_BYTES, Slot, UNIT_SLOTS, region_units, unit_of_slot,
};
use crate::ids::HeapAddress;
use crate::limits::{LIVE_UNIT_BYTES, LIVE_UNITS_MAX};

mod unit;

pub use unit::{SlotBits, SlotWords, Unit, slot_words};

/// Entries in one unit.
const UNIT_ENTRIES: usize = LIVE_UNIT_BYTES / ENTRY_BYTES;
/// Entries that lie where a slot would.
const SLOT_ENTRIES: usize = SLOT_BYTES / ENTRY_BYTES;

/// A copy of a live file.
pub trait Units {
    /// How many units of the file are in use.
    fn units(&self) -> u32;

    /// What there is of a unit.
    fn unit(&self, number: u32) -> Unit<'_>;
}

/// A block that is allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Live {
    /// Where it is.
    pub address: HeapAddress,
    /// Whether the program itself allocated it, from a pool.
    pub is_pool: bool,
    /// What the table says of it, its whole size among that.
    pub slot: Slot,
}

/// What can be wrong with a table, its copy, or the way to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableError {
    /// A file that is shorter than its directory is.
    TooSmall {
        /// Units that it has.
        units: u32,
    },
    /// A file that is longer than a table can be.
    TooBig {
        /// Units that it has.
        units: u32,
    },
    /// The caller gave less room than so many units need.
    OutOfSpace {
        /// Units that there is room for.
        units: u32,
    },
    /// Bytes that make no sense.
    InvalidInput {
        /// Where in the file.
        offset: u64,
        /// What is wrong with them.
        what: &'static str,
    },
    /// The system refused something.
    SystemCall {
        /// What it said: a number of `errno`.
        errno: i32,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::TooSmall { units } => write!(f, "live table of {units} units has no directory"),
            TableError::TooBig { units } => write!(f, "live table of {units} units is longer than any"),
            TableError::OutOfSpace { units } => write!(f, "live table has more than {units} units"),
            TableError::InvalidInput { offset, what } => {
                write!(f, "{what} at byte {offset} of the live table")
            }
            TableError::SystemCall { errno } => write!(f, "the system refused with error {errno}"),
        }
    }
}

impl core::error::Error for TableError {}

/// Words that a walk needs to note which of so many units it has seen, and which of their slots.
pub const fn seen_words(units: u32) -> usize {
    unit_words(units) + units as usize * (UNIT_SLOTS / 64)
}

/// Those for the units.
const fn unit_words(units: u32) -> usize {
    (units as usize).div_ceil(64)
}

/// Hands every block of a table to `visit`, by address, those of the heap first, and everything that is
/// wrong with it. `seen` is room of the caller's, [`seen_words`] of it.
///
/// # Errors
/// When there is no table or no room to walk it; then nothing was visited.
pub fn walk<U: Units>(
    units: &U,
    granule_shift: u32,
    seen: &mut [u64],
    visit: impl FnMut(Result<Live, TableError>),
) -> Result<(), TableError> {
    let count = units.units();
    if count == 0 {
        return Ok(()); // nothing was ever allocated
    }
    if count < DIRECTORY_UNITS {
        return Err(TableError::TooSmall { units: count });
    }
    if count as usize > LIVE_UNITS_MAX {
        return Err(TableError::TooBig { units: count });
    }
    if seen.len() < seen_words(count) {
        let fits = |units: &u32| seen_words(*units) <= seen.len();
        return Err(TableError::OutOfSpace { units: (0..count).rev().find(fits).unwrap_or(0) });
    }
    if ![GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER].contains(&granule_shift) {
        return Err(TableError::InvalidInput { offset: 0, what: "unknown distance of blocks" });
    }
    seen.fill(0);
    let (seen, seen_slots) = seen.split_at_mut(unit_words(count));
    Walk { units, count, granule_shift, seen, seen_slots, visit }.run();
    Ok(())
}

/// A walk under way.
struct Walk<'a, U, V> {
    units: &'a U,
    count: u32,
    granule_shift: u32,
    seen: &'a mut [u64],
    seen_slots: &'a mut [u64],
    visit: V,
}

impl<U: Units, V: FnMut(Result<Live, TableError>)> Walk<'_, U, V> {
    fn run(&mut self) {
        // By address: entries of a directory that differ in bit 3 of the address only stand side by side.
        for unit in 0..DIRECTORY_UNITS {
            for_each_entry(&self.units.unit(unit), |at, entry| {
                if let Some(table) = self.follow(entry, 1, place(unit, at * 4)) {
                    self.table(unit as usize * UNIT_ENTRIES + at, table);
                }
            });
        }
    }

    fn table(&mut self, directory: usize, unit: u32) {
        let shift = self.shift(directory);
        for_each_entry(&self.units.unit(unit), |table, entry| {
            if let Some(region) = self.follow(entry, region_units(shift), place(unit, table * 4)) {
                self.region(directory, table, region);
            }
        });
    }

    fn region(&mut self, directory: usize, table: usize, region: u32) {
        for nth in 0..region_units(self.shift(directory)) {
            for_each_entry(&self.units.unit(region + nth), |at, slot| {
                let path = Path { directory, table, granule: nth as usize * UNIT_ENTRIES + at };
                if let Some(found) = self.block(path, slot, place(region + nth, at * ENTRY_BYTES)) {
                    (self.visit)(found);
                }
            });
        }
    }

    /// The block to whose slot an entry leads that stands at this offset. `None` where the slot was not yet written, or was
    /// another's, when it was copied.
    fn block(&mut self, path: Path, slot: u32, offset: u64) -> Option<Result<Live, TableError>> {
        let slot = match self.slot_of_block(slot) {
            Ok(slot) => slot?,
            Err(what) => return Some(Err(TableError::InvalidInput { offset, what })),
        };
        let shift = self.shift(path.directory);
        let HeapAddress(mut address) = path.address(shift);
        if shift == GRANULE_SHIFT_GLIBC {
            address |= u64::from(slot.upper_half) << 4;
        }
        Some(Ok(Live { address: HeapAddress(address), is_pool: path.is_pool(), slot }))
    }

    /// What stands in the slot to which an entry leads, with the whole size of the block; `None` where that is no block.
    fn slot_of_block(&mut self, number: u32) -> Result<Option<Slot>, &'static str> {
        let words = self.unseen_slot(number)?;
        if let Some(LargeBlock { slot, size_bytes }) = LargeBlock::unpack(words) {
            let block =
                Slot::unpack(self.unseen_slot(slot)?).filter(|block| block.size_bytes == SIZE_ELSEWHERE);
            return block.map(|block| Some(Slot { size_bytes, ..block })).ok_or("size that is no block's");
        }
        match Slot::unpack(words) {
            Some(Slot { size_bytes: SIZE_ELSEWHERE, .. }) => Err("block whose size is missing"),
            slot => Ok(slot),
        }
    }

    /// The words of a slot to which nothing has led yet.
    fn unseen_slot(&mut self, number: u32) -> Result<SlotWords, &'static str> {
        let unit = self.checked(unit_of_slot(number), 1).ok_or("entry that leads out of the file")?;
        let (word, bit) = (number as usize / 64, number % 64);
        let seen = self.seen_slots.get_mut(word).filter(|seen| **seen >> bit & 1 == 0);
        *seen.ok_or("entry that leads where another has led already")? |= 1 << bit;
        Ok(self.units.unit(unit).slot(number as usize % UNIT_SLOTS))
    }

    /// The granule of a directory's blocks.
    fn shift(&self, directory: usize) -> u32 {
        if directory < DIRECTORY_ENTRIES { self.granule_shift } else { GRANULE_SHIFT_OTHER }
    }

    /// Where an entry leads that stands at this offset, when that is `n` units that nobody has seen yet.
    fn follow(&mut self, entry: u32, n: u32, offset: u64) -> Option<u32> {
        if entry == 0 {
            return None;
        }
        let what = match self.checked(entry, n) {
            None => "entry that leads out of the file",
            Some(first) if (first..first + n).any(|unit| self.is_seen(unit)) => {
                "entry that leads where another has led already"
            }
            Some(first) => {
                (first..first + n).for_each(|unit| self.seen[unit as usize / 64] |= 1 << (unit % 64));
                return Some(first);
            }
        };
        (self.visit)(Err(TableError::InvalidInput { offset, what }));
        None
    }

    /// The entry, if `n` units from there on are in use and none of them is of a directory.
    fn checked(&self, entry: u32, n: u32) -> Option<u32> {
        let end = entry.checked_add(n)?;
        (entry >= DIRECTORY_UNITS && end <= self.count).then_some(entry)
    }

    fn is_seen(&self, unit: u32) -> bool {
        self.seen[unit as usize / 64] >> (unit % 64) & 1 != 0
    }
}

/// Where in the file a byte of a unit is.
fn place(unit: u32, byte: usize) -> u64 {
    u64::from(unit) * LIVE_UNIT_BYTES as u64 + byte as u64
}

/// Hands each entry that leads somewhere to `visit`, by number.
fn for_each_entry(unit: &Unit<'_>, mut visit: impl FnMut(usize, u32)) {
    unit.for_each_slot(|slot, words| {
        let entries = entries(words).into_iter().enumerate().filter(|(_, entry)| *entry != 0);
        entries.for_each(|(nth, entry)| visit(slot * SLOT_ENTRIES + nth, entry));
    });
}

/// The entries that lie where a slot would.
fn entries([word0, word1]: SlotWords) -> [u32; SLOT_ENTRIES] {
    [word0 as u32, (word0 >> 32) as u32, word1 as u32, (word1 >> 32) as u32]
}

#[cfg(test)]
mod tests;
