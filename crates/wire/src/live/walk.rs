//! The live table, read: from the directories over tables and regions to the slots of a copy of the file, and
//! from each entry of a region back to the address of its block.
//!
//! Whoever wrote the table may have meant harm, or died in the middle of a word. So each number of a unit or a slot
//! is checked before it is followed, each is visited once - entries that lead where another has led
//! already are reported and passed over, so that a small file cannot make a reader work for long, and no block counts
//! twice - and what makes no sense is reported with its place in the file, while the walk continues.

use core::fmt;

use super::{
    ADDRESS_END, DIRECTORY_ENTRIES, DIRECTORY_UNITS, ENTRY_BYTES, GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER,
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

    /// The block to whose slot an entry leads that stands at this offset. `None` where it leads to no block: to the size of
    /// the one before it, or to a slot that was not yet written when it was copied.
    fn block(&mut self, path: Path, slot: u32, offset: u64) -> Option<Result<Live, TableError>> {
        let refused = |what| Some(Err(TableError::InvalidInput { offset, what }));
        let Some(words) = self.slot(slot) else { return refused("entry that leads out of the file") };
        let (word, bit) = (slot as usize / 64, slot % 64);
        if self.seen_slots.get(word).is_none_or(|bits| bits >> bit & 1 != 0) {
            return refused("entry that leads where another has led already");
        }
        self.seen_slots[word] |= 1 << bit;
        let mut slot = Slot::unpack(words)?;
        let shift = self.shift(path.directory);
        let HeapAddress(mut address) = path.address(shift);
        if shift == GRANULE_SHIFT_GLIBC {
            address |= u64::from(slot.upper_half) << 4;
        }
        if slot.size_bytes == SIZE_ELSEWHERE {
            let Some(size) = self.size_after(path, shift) else {
                return refused("block whose size is missing");
            };
            slot.size_bytes = size;
        }
        Some(Ok(Live { address: HeapAddress(address), is_pool: path.is_pool(), slot }))
    }

    /// The size that stands in the slot of the granule after this one.
    fn size_after(&self, path: Path, shift: u32) -> Option<u64> {
        let after = HeapAddress(path.address(shift).0 + (1 << shift));
        if after.0 >= ADDRESS_END {
            return None;
        }
        let next = if path.is_pool() { Path::of_pool(after) } else { Path::of(after, shift) };
        let [word0, size] = self.slot(self.entry_at(next, shift)?)?;
        (word0 == 0 && size >= SIZE_ELSEWHERE).then_some(size)
    }

    /// The entry of a granule, found from the directory on.
    fn entry_at(&self, path: Path, shift: u32) -> Option<u32> {
        let directory = self.units.unit((path.directory / UNIT_ENTRIES) as u32);
        let table = self.checked(entry(&directory, path.directory % UNIT_ENTRIES), 1)?;
        let region = self.checked(entry(&self.units.unit(table), path.table), region_units(shift))?;
        let unit = self.units.unit(region + (path.granule / UNIT_ENTRIES) as u32);
        Some(entry(&unit, path.granule % UNIT_ENTRIES))
    }

    /// The words of the slot with this number, if it is in use.
    fn slot(&self, number: u32) -> Option<SlotWords> {
        let unit = self.checked(unit_of_slot(number), 1)?;
        Some(self.units.unit(unit).slot(number as usize % UNIT_SLOTS))
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

/// An entry of a directory, a table or a region.
fn entry(unit: &Unit<'_>, at: usize) -> u32 {
    entries(unit.slot(at / SLOT_ENTRIES))[at % SLOT_ENTRIES]
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
