//! The live table: what is allocated now. An entry for each place where a block can start, found from the address by
//! two steps of a radix, so that nothing is probed, hashed or locked; an entry leads to the slot that tells of the block.
//!
//! ```text
//!   file     unit 0..3    directory: 2^14 entries of u32, by (address / 16 GiB, bit 3 of the address)
//!            unit 4..7    the same for blocks of pools, whose granule is 16 bytes everywhere
//!            unit 8 ..    a mark for each unit, a byte: 0 no pages yet, 1 changed, 2 not changed since a reader said so
//!            unit u       table: 4096 entries of u32, by address / 4 MiB within the 16 GiB
//!            unit u ..    region: entries of 4 MiB of heap, one per granule (32 bytes on glibc, 16 elsewhere)
//!            unit u       slots: 9 for which of this unit are free, and 1015 of blocks
//!   An entry is 0 for none; one of a directory or a table is the number of the unit that it leads to, one of a region
//!   that of a slot, counted from the file's beginning. A unit is 16 KiB.
//!
//!   slot     word 0       bits 0-25 size  26-51 stack  52 live  53 address bit 4  54-61 thread, high 8
//!                      62-63 sampling rate
//!            word 1       bits 0-47 birth ticks        48-63 thread, low 16
//! ```
//! A size of all ones says that the size is in a slot of its own, to which the entry leads in place of the block's:
//!
//! ```text
//!   large    word 0       bits 0-31 the block's slot  52 zero  63 one        word 1       size
//! ```
//! It stood in the place of the next granule once, where a block of a pool inside that of another pool was lost for it.
//! A slot is written before the entry that leads to it, and what it says
//! means nothing once that is cleared.
//!
//! Slots lie close together, wherever their blocks are: most granules are no block's start, and memory of a slot for each
//! was half of the heap's, 1.94 GiB for 4 GiB in blocks of 1 KiB.
//!
//! Bit 3 of the address picks a table of its own, because other heaps have classes of 8 bytes (jemalloc,
//! mimalloc, tcmalloc): two such neighbours share a granule but not a table. On glibc no two blocks start
//! in the same 32 bytes; bit 4 in the slot says which half it was.
//!
//! Blocks that a program allocates itself, from a pool, lie inside blocks of the heap, so they have a
//! directory of their own.
//!
//! By the marks a reader copies the table while it changes, as memory of a virtual machine is copied that moves (Clark et
//! al., "Live Migration of Virtual Machines", 2005): what was changed after that is all that it copies while threads
//! wait. A thread looks at the mark of a unit in any case, to see whether the unit has pages.

use crate::ids::{HeapAddress, RateId, StackId, ThreadId};
use crate::limits::{BIRTH_BITS, LIVE_UNIT_BYTES, LIVE_UNITS_MAX, SIZE_BITS, STACK_BITS};

pub mod walk;

/// Bytes of heap that one region covers.
pub const REGION_BYTES: u64 = 4 << 20;
/// Units of the directory.
pub const DIRECTORY_UNITS: u32 = 8;
/// Where the marks are in the file.
pub const MARKS_OFFSET: usize = DIRECTORY_UNITS as usize * LIVE_UNIT_BYTES;
/// The mark of a unit that is changed, or that no reader asks for; 0 is that of one without pages.
pub const CHANGED: u8 = 1;
/// The mark that a reader makes, while it holds operations back, of [`CHANGED`]: whoever changes the unit next takes it away.
pub const UNCHANGED: u8 = 2;
/// Bytes of one slot.
pub const SLOT_BYTES: usize = 16;
/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 4;
/// Slots of one unit.
pub const UNIT_SLOTS: usize = LIVE_UNIT_BYTES / SLOT_BYTES;
/// The first slots of a unit of slots, in which stands which of the others are free.
pub const HEADER_SLOTS: usize = 1 + UNIT_SLOTS / 8 / SLOT_BYTES;
const _: () = assert!(
    LIVE_FILE_BYTES / SLOT_BYTES <= u32::MAX as usize,
    "an entry of 32 bits has the number of any slot"
);
/// Heap addresses are below this.
pub const ADDRESS_END: u64 = 1 << 47;
/// Granule shift where blocks start at least 32 bytes apart: glibc.
pub const GRANULE_SHIFT_GLIBC: u32 = 5;
/// Granule shift everywhere else.
pub const GRANULE_SHIFT_OTHER: u32 = 4;
/// Bytes of the whole file, most of them never allocated.
pub const LIVE_FILE_BYTES: usize = LIVE_UNITS_MAX * LIVE_UNIT_BYTES;

/// Entries of the directory of the heap's blocks, and of that of the pools' after it.
pub const DIRECTORY_ENTRIES: usize = (ADDRESS_END >> 34) as usize * 2;
const _: () = assert!(2 * DIRECTORY_ENTRIES * ENTRY_BYTES == DIRECTORY_UNITS as usize * LIVE_UNIT_BYTES);
const TABLE_ENTRIES: usize = ((1u64 << 34) / REGION_BYTES) as usize;
const _: () = assert!(TABLE_ENTRIES * ENTRY_BYTES == LIVE_UNIT_BYTES);

/// Units of one region.
pub const fn region_units(granule_shift: u32) -> u32 {
    ((REGION_BYTES >> granule_shift) as usize * ENTRY_BYTES / LIVE_UNIT_BYTES) as u32
}

/// The unit that a slot is in, by its number.
pub const fn unit_of_slot(slot: u32) -> u32 {
    slot / UNIT_SLOTS as u32
}

/// Units of the marks of a file of this size.
pub const fn mark_units(file_bytes: usize) -> u32 {
    (file_bytes / LIVE_UNIT_BYTES).div_ceil(LIVE_UNIT_BYTES) as u32
}

/// Where an address leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// Entry of the directory.
    pub directory: usize,
    /// Entry of the table.
    pub table: usize,
    /// Entry of the region.
    pub granule: usize,
}

impl Path {
    /// The path of a block's address. The address is below [`ADDRESS_END`].
    #[inline(always)]
    pub const fn of(address: HeapAddress, granule_shift: u32) -> Path {
        let a = address.0;
        Path {
            directory: ((a >> 34) << 1 | (a >> 3 & 1)) as usize % DIRECTORY_ENTRIES,
            table: (a >> 22) as usize % TABLE_ENTRIES,
            granule: ((a % REGION_BYTES) >> granule_shift) as usize,
        }
    }

    /// The path of the address of a pool's block.
    #[inline(always)]
    pub const fn of_pool(address: HeapAddress) -> Path {
        let path = Path::of(address, GRANULE_SHIFT_OTHER);
        Path { directory: path.directory + DIRECTORY_ENTRIES, ..path }
    }

    /// Whether it leads to a pool's block.
    pub const fn is_pool(self) -> bool {
        self.directory >= DIRECTORY_ENTRIES
    }

    /// The address that has this path, but for bit 4 where the granule is 32 bytes.
    pub const fn address(self, granule_shift: u32) -> HeapAddress {
        let phase = (self.directory as u64 & 1) << 3;
        let high = ((self.directory % DIRECTORY_ENTRIES) as u64 >> 1) << 34 | (self.table as u64) << 22;
        HeapAddress(high | (self.granule as u64) << granule_shift | phase)
    }
}

/// What a slot says of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Requested size in bytes.
    pub size_bytes: u64,
    /// Who asked for it.
    pub stack: StackId,
    /// Thread that asked for it.
    pub thread: ThreadId,
    /// When, in the low [`BIRTH_BITS`] bits.
    pub birth_ticks: u64,
    /// Bit 4 of the block's address.
    pub upper_half: bool,
    /// The rate at which blocks were sampled when this one was.
    pub rate: RateId,
}

/// What the slot of a usual block says, see [`Slot::unpack_usual`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsualSlot {
    /// Requested size in bytes.
    pub size_bytes: u64,
    /// Who asked for it.
    pub stack: StackId,
    /// When, in the low [`BIRTH_BITS`] bits.
    pub birth_ticks: u64,
}

/// A size that does not fit its bits: see [`LargeBlock`].
pub const SIZE_ELSEWHERE: u64 = (1 << SIZE_BITS) - 1;
const STACK_AT: u32 = SIZE_BITS;
const LIVE: u64 = 1 << (SIZE_BITS + STACK_BITS);
const UPPER_AT: u32 = SIZE_BITS + STACK_BITS + 1;
const THREAD_HIGH_AT: u32 = UPPER_AT + 1;
const RATE_AT: u32 = THREAD_HIGH_AT + 8;
const BIRTH_MASK: u64 = (1 << BIRTH_BITS) - 1;
const LARGE: u64 = 1 << 63;

/// What leads to the slot of a large block: one whose size does not fit there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LargeBlock {
    /// The number of its slot.
    pub slot: u32,
    /// Its size, [`SIZE_ELSEWHERE`] or more.
    pub size_bytes: u64,
}

impl LargeBlock {
    /// The two words.
    pub const fn pack(self) -> [u64; 2] {
        [LARGE | self.slot as u64, self.size_bytes]
    }

    /// What the words say; `None` when they say something else.
    pub const fn unpack([word0, size_bytes]: [u64; 2]) -> Option<LargeBlock> {
        let slot = word0 as u32;
        let is_it = word0 == LARGE | slot as u64 && size_bytes >= SIZE_ELSEWHERE;
        if is_it { Some(LargeBlock { slot, size_bytes }) } else { None }
    }
}

impl Slot {
    /// The two words. Sizes from [`SIZE_ELSEWHERE`] on are to be written elsewhere by the caller.
    #[inline(always)]
    pub const fn pack(&self) -> [u64; 2] {
        let size = if self.size_bytes < SIZE_ELSEWHERE { self.size_bytes } else { SIZE_ELSEWHERE };
        let thread = self.thread.0 as u64;
        let stack = self.stack.0 as u64 & ((1 << STACK_BITS) - 1);
        let word0 = size
            | stack << STACK_AT
            | LIVE
            | (self.upper_half as u64) << UPPER_AT
            | (thread >> 16 & 0xff) << THREAD_HIGH_AT
            | (self.rate.0 as u64) << RATE_AT;
        [word0, self.birth_ticks & BIRTH_MASK | (thread & 0xffff) << BIRTH_BITS]
    }

    /// What the words say if the block is a usual one of this thread: not sampled, of a size that stands here, and in this
    /// half of its granule. `None` for all others, and what is no block.
    #[inline(always)]
    pub const fn unpack_usual(words: [u64; 2], thread: ThreadId, upper_half: bool) -> Option<UsualSlot> {
        let [word0, word1] = words;
        let thread = thread.0 as u64;
        let usual = LIVE | (upper_half as u64) << UPPER_AT | (thread >> 16 & 0xff) << THREAD_HIGH_AT;
        let size_bytes = word0 & SIZE_ELSEWHERE;
        if word0 >> (SIZE_BITS + STACK_BITS) != usual >> (SIZE_BITS + STACK_BITS)
            || word1 >> BIRTH_BITS != thread & 0xffff
            || size_bytes == SIZE_ELSEWHERE
        {
            return None;
        }
        let stack = StackId((word0 >> STACK_AT) as u32 & ((1 << STACK_BITS) - 1));
        Some(UsualSlot { size_bytes, stack, birth_ticks: word1 & BIRTH_MASK })
    }

    /// What the words say; `None` for what is no block. A size of [`SIZE_ELSEWHERE`] is still to be fetched.
    #[inline(always)]
    pub const fn unpack(words: [u64; 2]) -> Option<Slot> {
        let [word0, word1] = words;
        if word0 & LIVE == 0 {
            return None;
        }
        let thread = (word0 >> THREAD_HIGH_AT & 0xff) << 16 | word1 >> BIRTH_BITS;
        Some(Slot {
            size_bytes: word0 & SIZE_ELSEWHERE,
            stack: StackId((word0 >> STACK_AT) as u32 & ((1 << STACK_BITS) - 1)),
            thread: ThreadId(thread as u32),
            birth_ticks: word1 & BIRTH_MASK,
            upper_half: word0 >> UPPER_AT & 1 != 0,
            rate: RateId((word0 >> RATE_AT) as u8),
        })
    }
}

/// Ticks from a birth in a slot to `now`, where the slot kept only the low bits. A birth that is ahead of `now`
/// gives 0: a free on another core may read the clock a tick before what the allocation has read.
#[inline(always)]
pub const fn age_ticks(now: u64, birth_ticks: u64) -> u64 {
    const UNUSED_BITS: u32 = u64::BITS - BIRTH_BITS;
    let age = now.wrapping_sub(birth_ticks) << UNUSED_BITS;
    if age as i64 >= 0 { age >> UNUSED_BITS } else { 0 }
}

/// Ticks by which a birth in a slot is ahead of `now`; 0 when it is not.
pub const fn ticks_ahead(now: u64, birth_ticks: u64) -> u64 {
    age_ticks(birth_ticks, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(slot: Slot) {
        assert_eq!(Slot::unpack(slot.pack()), Some(slot));
    }

    #[test]
    fn slots_round_trip() {
        for upper_half in [false, true] {
            for n in [0, 1, (1 << 26) - 2] {
                let birth_ticks = n << 20;
                let thread = ThreadId(n as u32 & 0xff_ffff);
                let (stack, rate) = (StackId(n as u32), RateId(n as u8 & 3));
                check(Slot { size_bytes: n, stack, thread, birth_ticks, upper_half, rate });
            }
        }
        let huge = Slot {
            size_bytes: 1 << 40,
            stack: StackId(0),
            thread: ThreadId(0),
            birth_ticks: 0,
            upper_half: false,
            rate: RateId(3),
        };
        assert_eq!(Slot::unpack(huge.pack()).unwrap().size_bytes, SIZE_ELSEWHERE);
        for large in
            [SIZE_ELSEWHERE, 1 << 40, u64::MAX].map(|size_bytes| LargeBlock { slot: u32::MAX, size_bytes })
        {
            assert_eq!(LargeBlock::unpack(large.pack()), Some(large));
            assert_eq!(Slot::unpack(large.pack()), None);
        }
        assert_eq!(LargeBlock::unpack(huge.pack()), None);
        assert_eq!(LargeBlock::unpack([LARGE | 5, SIZE_ELSEWHERE - 1]), None);
        assert_eq!(Slot::unpack([0, u64::MAX]), None);
    }

    #[test]
    fn a_usual_slot_is_one_of_this_thread_with_all_in_it() {
        let (stack, thread) = (StackId((1 << STACK_BITS) - 1), ThreadId(0xab_cdef));
        let usual = Slot {
            size_bytes: 24,
            stack,
            thread,
            birth_ticks: BIRTH_MASK,
            upper_half: true,
            rate: RateId::FULL,
        };
        let unpack = |slot: Slot| Slot::unpack_usual(slot.pack(), thread, true);
        let expected = UsualSlot { size_bytes: 24, stack, birth_ticks: BIRTH_MASK };
        assert_eq!(unpack(usual), Some(expected));
        let others = [
            Slot { size_bytes: SIZE_ELSEWHERE, ..usual },
            Slot { thread: ThreadId(0xaa_cdef), ..usual },
            Slot { thread: ThreadId(0xab_cdee), ..usual },
            Slot { upper_half: false, ..usual },
            Slot { rate: RateId(1), ..usual },
            Slot { rate: RateId(2), ..usual },
        ];
        others.into_iter().for_each(|slot| assert_eq!(unpack(slot), None, "{slot:?}"));
        let [word0, word1] = usual.pack();
        assert_eq!(Slot::unpack_usual([word0 & !LIVE, word1], thread, true), None);
    }

    #[test]
    fn paths_lead_back_to_their_addresses() {
        for shift in [GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER] {
            for a in [0x5555_5555_82a0u64, 0x7fff_f7ff_ffe8, 16, 8, 0x10_0000_0008, ADDRESS_END - 16] {
                let back = Path::of(HeapAddress(a), shift).address(shift).0;
                assert_eq!(back, if shift == 5 { a & !0x10 } else { a }, "{a:#x} {shift}");
            }
        }
    }

    #[test]
    fn a_pool_and_its_first_block_do_not_share_an_entry() {
        let address = HeapAddress(0x7fff_f7ff_ffe8);
        let (heap, pool) = (Path::of(address, GRANULE_SHIFT_OTHER), Path::of_pool(address));
        assert_ne!(heap.directory, pool.directory);
        assert_eq!((heap.is_pool(), pool.is_pool()), (false, true));
        assert_eq!(pool.address(GRANULE_SHIFT_OTHER), address);
    }

    #[test]
    fn eight_byte_neighbours_do_not_share_an_entry() {
        let a = Path::of(HeapAddress(0x1000), GRANULE_SHIFT_OTHER);
        let b = Path::of(HeapAddress(0x1008), GRANULE_SHIFT_OTHER);
        assert_ne!((a.directory, a.table, a.granule), (b.directory, b.table, b.granule));
    }

    #[test]
    fn ages_survive_the_wrap_of_birth_ticks() {
        let birth = (1u64 << 48) - 5;
        assert_eq!(age_ticks((1 << 48) + 5, birth & BIRTH_MASK), 10);
    }

    #[test]
    fn a_birth_that_is_ahead_has_no_age() {
        // now, birth: age, ahead
        for (now, birth, age, ahead) in [
            (1000, 1000, 0, 0),
            (999, 1000, 0, 1),
            ((1 << 48) - 1, 1 << 48, 0, 1),
            ((5 << 48) + 7, 9, 0, 2),
            ((1 << 47) - 1, 0, (1 << 47) - 1, 0),
            ((1 << 47) + 1, 0, 0, (1 << 47) - 1),
        ] {
            let birth = birth & BIRTH_MASK;
            assert_eq!((age_ticks(now, birth), ticks_ahead(now, birth)), (age, ahead), "{now} {birth}");
        }
    }
}
