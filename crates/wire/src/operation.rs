//! Operations on the live table, and how a reader holds them back for a moment, so that what it copies is
//! the table of one instant.
//!
//! ```text
//!   threads  record of 128 bytes for each thread that runs, taken over when a thread has ended
//!            0 in operation u32 (1: its slots may be half changed)   4 thread u32   8 kernel's tid u32
//!           16 bytes allocated u64  24 bytes freed u64  32 blocks allocated u64  40 blocks freed u64,
//!              of recorded blocks, by all threads that had the record
//!           48 cut stacks, a u64 for each reason of [`LossReason::CUT_STACKS`], by all threads that had the
//!              record; the head's counters of these reasons have only those of threads without a record
//!   hold     a word of the head: 0, or what the reader who holds operations back has made up
//!
//!   thread   in operation = 1, look at hold: 0, go on         else in operation = 0, wait, begin again
//!   reader   hold = own word, barrier, wait until no record is in operation, barrier, copy, hold still own?
//!            then it was exact; hold = 0
//! ```
//! The thread pays two plain stores and a load. That its store is seen before its load is the reader's
//! work: a barrier on all processors that run threads of the process (`membarrier(2)`; Dice, Huang and
//! Yang, "Asymmetric Dekker Synchronization", 2001). A reader that dies holds nobody for longer than
//! [`HOLD_NS_MAX`]: the thread that has waited so long takes the word away, by which the reader, should it
//! live, knows that its copy is of no one instant.
//!
//! Cut stacks are counted here because in some programs every event has one: with the head's counters alone
//! each event of all threads took the same cache line.

#![allow(unexpected_cfgs, reason = "`loom` is given by hand, for models only")]

use crate::loss::{DROP_COUNTERS, LossReason};
use crate::sync::{AtomicU32, AtomicU64, Ordering, order_for_barrier};

/// Name of the file with a record for each thread.
pub const FILE_NAME: &str = "threads";
/// Bytes of a record: two cache lines, which no two threads share.
pub const RECORD_BYTES: usize = 128;
/// Records that the file has room for.
pub const RECORDS_MAX: usize = 1 << 16;
/// Bytes of the whole file, most of them never allocated.
pub const THREADS_FILE_BYTES: usize = RECORDS_MAX * RECORD_BYTES;
/// How long a thread lets itself be held, ns.
pub const HOLD_NS_MAX: u64 = 200_000_000;

/// What a thread says of itself to readers.
#[repr(C, align(64))]
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the table above says what each field is")]
pub struct ThreadRecord {
    pub in_operation: AtomicU32,
    pub thread: AtomicU32,
    pub tid: AtomicU32,
    pub reserved: AtomicU32,
    pub allocated_bytes: AtomicU64,
    pub freed_bytes: AtomicU64,
    pub allocated_blocks: AtomicU64,
    pub freed_blocks: AtomicU64,
    pub cut_stacks: [AtomicU64; CUT_STACKS],
}

/// Counters of cut stacks.
const CUT_STACKS: usize = LossReason::CUT_STACKS.len();

const _: () = assert!(crate::sync::IS_MODEL || size_of::<ThreadRecord>() == RECORD_BYTES);
const _: () = assert!(crate::sync::IS_MODEL || core::mem::offset_of!(ThreadRecord, cut_stacks) == 48);

impl ThreadRecord {
    /// Of no thread.
    #[cfg(not(all(loom, test)))]
    pub const fn new() -> ThreadRecord {
        ThreadRecord {
            in_operation: AtomicU32::new(0),
            thread: AtomicU32::new(0),
            tid: AtomicU32::new(0),
            reserved: AtomicU32::new(0),
            allocated_bytes: AtomicU64::new(0),
            freed_bytes: AtomicU64::new(0),
            allocated_blocks: AtomicU64::new(0),
            freed_blocks: AtomicU64::new(0),
            cut_stacks: [const { AtomicU64::new(0) }; CUT_STACKS],
        }
    }

    /// Begins an operation. When it is held back, which is the answer false, none has begun.
    #[inline(always)]
    pub fn begin(&self, hold: &AtomicU32) -> bool {
        self.in_operation.store(1, Ordering::Relaxed);
        // For the compiler; the processor is the reader's business.
        order_for_barrier();
        if hold.load(Ordering::Relaxed) == 0 {
            order_for_barrier();
            return true;
        }
        self.in_operation.store(0, Ordering::Release);
        false
    }

    /// Whether an operation has begun and not ended.
    pub fn is_in_operation(&self) -> bool {
        self.in_operation.load(Ordering::Relaxed) != 0
    }

    /// Ends it.
    #[inline(always)]
    pub fn end(&self) {
        self.in_operation.store(0, Ordering::Release);
    }

    /// Counts a block that was allocated. The record's thread alone counts.
    #[inline(always)]
    pub fn count_allocated(&self, size_bytes: u64) {
        add(&self.allocated_bytes, size_bytes);
        add(&self.allocated_blocks, 1);
    }

    /// Takes back the count of a block that was about to be freed and was not.
    pub fn uncount_freed(&self, size_bytes: u64) {
        add(&self.freed_bytes, size_bytes.wrapping_neg());
        add(&self.freed_blocks, u64::MAX);
    }

    /// Counts a block that was freed.
    #[inline(always)]
    pub fn count_freed(&self, size_bytes: u64) {
        add(&self.freed_bytes, size_bytes);
        add(&self.freed_blocks, 1);
    }

    /// Counts a stack that is cut; whether the reason is one that records count.
    #[inline(always)]
    pub fn count_cut_stack(&self, reason: LossReason) -> bool {
        let index = (reason as usize).wrapping_sub(LossReason::CUT_STACKS[0] as usize);
        let Some(counter) = self.cut_stacks.get(index) else { return false };
        add(counter, 1);
        true
    }
}

/// Adds without a locked instruction: there is one writer.
#[inline(always)]
fn add(to: &AtomicU64, n: u64) {
    to.store(to.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
}

/// Takes a hold away that has lasted too long; whether it was still there.
pub fn break_hold(hold: &AtomicU32, seen: u32) -> bool {
    hold.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// A record as another process copied it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs, reason = "the table above says what each field is")]
pub struct Record {
    pub in_operation: bool,
    pub thread: u32,
    pub tid: u32,
    pub allocated_bytes: u64,
    pub freed_bytes: u64,
    pub allocated_blocks: u64,
    pub freed_blocks: u64,
    pub cut_stacks: [u64; CUT_STACKS],
}

impl Record {
    /// The bytes of a record.
    pub fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let mut out = [0; RECORD_BYTES];
        for (i, word) in [u32::from(self.in_operation), self.thread, self.tid].into_iter().enumerate() {
            out[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
        }
        let counts = [self.allocated_bytes, self.freed_bytes, self.allocated_blocks, self.freed_blocks];
        for (i, count) in counts.into_iter().chain(self.cut_stacks).enumerate() {
            out[16 + 8 * i..24 + 8 * i].copy_from_slice(&count.to_le_bytes());
        }
        out
    }

    /// What the bytes say; anything is a record.
    pub fn parse(bytes: &[u8; RECORD_BYTES]) -> Record {
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        Record {
            in_operation: u32_at(0) != 0,
            thread: u32_at(4),
            tid: u32_at(8),
            allocated_bytes: u64_at(16),
            freed_bytes: u64_at(24),
            allocated_blocks: u64_at(32),
            freed_blocks: u64_at(40),
            cut_stacks: core::array::from_fn(|i| u64_at(48 + 8 * i)),
        }
    }

    /// Adds its cut stacks to what a head counts.
    pub fn add_cut_stacks(&self, drops: &mut [u64; DROP_COUNTERS]) {
        for (reason, count) in LossReason::CUT_STACKS.into_iter().zip(self.cut_stacks) {
            let sum = &mut drops[reason as usize];
            *sum = sum.saturating_add(count);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn records_round_trip() {
        let record = Record {
            in_operation: true,
            thread: 7,
            tid: u32::MAX,
            allocated_bytes: u64::MAX,
            freed_bytes: 1,
            allocated_blocks: 2,
            freed_blocks: 3,
            cut_stacks: [4, u64::MAX, 5, 6],
        };
        assert_eq!(Record::parse(&record.to_bytes()), record);
    }

    #[test]
    fn cut_stacks_are_added_to_what_the_head_counts() {
        let record = ThreadRecord::new();
        for reason in LossReason::ALL {
            let is_counted = record.count_cut_stack(reason);
            assert_eq!(is_counted, LossReason::CUT_STACKS.contains(&reason), "{reason:?}");
        }
        assert!(record.count_cut_stack(LossReason::StackNoInfo));
        let copy = Record { cut_stacks: record.cut_stacks.map(AtomicU64::into_inner), ..Record::default() };
        let mut drops = [10; DROP_COUNTERS];
        drops[LossReason::StackBounds as usize] = u64::MAX;
        copy.add_cut_stacks(&mut drops);
        let expected = |i| match LossReason::from_number(i as u8) {
            Some(LossReason::StackDepth | LossReason::StackRule) => 11,
            Some(LossReason::StackNoInfo) => 12,
            Some(LossReason::StackBounds) => u64::MAX,
            _ => 10,
        };
        assert_eq!(drops, core::array::from_fn(expected));
    }
}
