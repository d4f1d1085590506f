//! Operations in one pool of a size, to learn whether it suffices. The pool is real and so are its blocks; only
//! what would be in them is not written, so that a pool of gigabytes is tried in the memory of its headers.
//!
//! Where in memory a pool lies matters to blocks with large alignments, and how large blocks are differs from
//! one run of a program to the next by the length of a path or a number; [`Vary`] changes both.
#![allow(unsafe_code)]

use std::io;
use std::ptr::NonNull;

use heapscribe_alloc::locked::{PageOptions, from_kernel};
use heapscribe_alloc::tlsf::{Tlsf, total_for};
use heapscribe_alloc::{Request, Stats};
use serde::Serialize;

use crate::op::Op;
use crate::program::Program;

const PAGE_BYTES: usize = 4096;
/// Pools may begin at any page of this many bytes.
const PLACES_BYTES: usize = 2 << 20;
/// Calls between two looks at what is free, besides those at new peaks.
const CALLS_PER_LOOK: u64 = 64;
/// Sizes are changed by up to a twentieth.
const SHARE: u64 = 20;

/// Memory in which one pool after the other is made.
#[derive(Debug)]
pub struct Bed {
    base: NonNull<u8>,
    most_bytes: usize,
}

// SAFETY: its memory is nobody else's, and is used through `&mut` alone.
unsafe impl Send for Bed {}

impl Bed {
    /// For pools of up to so many bytes; `None` when there is no room. It is never given back.
    pub fn new(most_bytes: usize) -> Option<Bed> {
        let pages = PageOptions { prefault: false, lock: false, huge_pages: false };
        let area = from_kernel(most_bytes.checked_add(2 * PLACES_BYTES)?, pages)?;
        let gap = (area.base.as_ptr() as usize).wrapping_neg() % PLACES_BYTES;
        // SAFETY: there are two more such pieces than the pool needs.
        Some(Bed { base: unsafe { area.base.add(gap) }, most_bytes })
    }

    /// The largest pool.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes
    }
}

/// What is different from the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Vary {
    /// Decides where the pool begins and by how much each size is changed, up to 5 %; 0: nothing is.
    pub seed: u64,
}

impl Vary {
    fn place(self) -> usize {
        mixed(self.seed) as usize % (PLACES_BYTES / PAGE_BYTES) * PAGE_BYTES * usize::from(self.seed != 0)
    }

    #[inline(always)]
    fn size(self, size_bytes: u64, number: u64) -> u64 {
        if self.seed == 0 || size_bytes > 1 << 40 {
            return size_bytes;
        }
        let most = size_bytes / SHARE;
        size_bytes - most + mixed(self.seed ^ number << 8) % (2 * most + 1)
    }
}

/// All bits of a number depend on all of the other (splitmix64).
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

/// A pool when least of it could be had in one piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Tightest {
    /// Bytes in blocks.
    pub used_bytes: u64,
    /// Bytes that are free.
    pub free_bytes: u64,
    /// The largest request that would be served.
    pub largest_free_bytes: u64,
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolRun {
    /// The request that got nothing, at which it ended: bytes.
    pub failed_bytes: Option<u64>,
    /// Calls that were served.
    pub calls: u64,
    /// The most bytes asked for at a time.
    pub peak_live_bytes: u64,
    /// The most bytes of the pool that were in blocks, with headers and what was rounded up.
    pub peak_used_bytes: u64,
    /// When the largest request that would have been served was the smallest.
    pub tightest: Tightest,
    /// Misuses that the pool found: none, or a fault of ours.
    pub misuses: u64,
}

/// The most that the blocks of a program take of a pool at a time: no pool that is smaller serves it, wherever
/// they lie.
///
/// # Errors
/// When the program cannot be read.
pub fn floor_bytes(program: &Program<'_>, vary: Vary) -> io::Result<u64> {
    let (mut totals, mut calls) = (vec![0u64; program.slots()], 0);
    let (mut taken, mut most) = (0u128, 0u128);
    let mut ops = program.ops();
    while let Some(op) = ops.next_op()? {
        let (slot, total) = match op {
            Op::Alloc { slot, size_bytes, .. } | Op::Realloc { slot, size_bytes } => {
                let size = usize::try_from(vary.size(size_bytes, calls)).unwrap_or(usize::MAX);
                (slot, total_for(size) as u64)
            }
            Op::Free { slot, .. } => (slot, 0),
            Op::Moment { .. } => continue,
        };
        let before = std::mem::replace(&mut totals[slot as usize], total);
        taken = taken + u128::from(total) - u128::from(before);
        most = most.max(taken);
        calls += 1;
    }
    Ok(u64::try_from(most).unwrap_or(u64::MAX))
}

struct Run {
    tlsf: Tlsf,
    slots: Vec<(Option<NonNull<u8>>, u64)>,
    vary: Vary,
    live_bytes: u64,
    /// More than at any look before.
    live_to_look: u64,
    found: PoolRun,
}

impl PoolRun {
    /// Whether every request was served.
    pub fn is_served(&self) -> bool {
        self.failed_bytes.is_none()
    }

    /// Runs a program in one pool, to its end or the first request that gets nothing.
    ///
    /// # Errors
    /// When the program cannot be read, or the pool is larger than the bed.
    pub fn of(bed: &mut Bed, pool_bytes: usize, program: &Program<'_>, vary: Vary) -> io::Result<PoolRun> {
        PoolRun::looking::<true>(bed, pool_bytes, program, vary)
    }

    /// Whether every request of a program is served in one pool. Nothing else is found out, which is faster.
    ///
    /// # Errors
    /// As [`PoolRun::of`].
    pub fn serves(bed: &mut Bed, pool_bytes: usize, program: &Program<'_>, vary: Vary) -> io::Result<bool> {
        PoolRun::looking::<false>(bed, pool_bytes, program, vary).map(|run| run.is_served())
    }

    fn looking<const LOOKS: bool>(
        bed: &mut Bed,
        pool_bytes: usize,
        program: &Program<'_>,
        vary: Vary,
    ) -> io::Result<PoolRun> {
        if pool_bytes > bed.most_bytes {
            return Err(io::Error::other("the pool is larger than the memory it is made in"));
        }
        let mut tlsf = Tlsf::new();
        // SAFETY: the bed has this much behind its base, whatever place is taken; `&mut` says that nobody
        // else uses it, and the heap does not outlive this call.
        if !unsafe { tlsf.add_pool(bed.base.add(vary.place()), pool_bytes) } {
            return Ok(PoolRun { failed_bytes: Some(0), ..PoolRun::default() });
        }
        let slots = vec![(None, 0); program.slots()];
        let mut run = Run { tlsf, slots, vary, live_bytes: 0, live_to_look: 0, found: PoolRun::default() };
        run.look();
        let mut ops = program.ops();
        while let Some(op) = ops.next_op()? {
            if let Err(failed_bytes) = run.step::<LOOKS>(op) {
                run.found.failed_bytes = Some(failed_bytes);
                break;
            }
        }
        let stats = run.tlsf.stats();
        Ok(PoolRun { peak_used_bytes: stats.peak_bytes, misuses: stats.misuses, ..run.found })
    }
}

impl Run {
    /// Makes a call; the bytes of the request are the error when it gets nothing.
    #[inline(always)]
    fn step<const LOOKS: bool>(&mut self, op: Op) -> Result<(), u64> {
        match op {
            Op::Alloc { slot, size_bytes, align_log2, .. } => {
                let size = self.vary.size(size_bytes, self.found.calls);
                self.free(slot);
                let block = self.alloc(size, align_log2)?;
                self.keep(slot, block, size);
            }
            Op::Free { slot, .. } => self.free(slot),
            Op::Realloc { slot, size_bytes } => {
                let size = self.vary.size(size_bytes, self.found.calls);
                self.realloc(slot, size)?;
            }
            Op::Moment { .. } => return Ok(()),
        }
        self.found.calls += 1;
        if LOOKS && (self.found.calls.is_multiple_of(CALLS_PER_LOOK) || self.live_bytes > self.live_to_look) {
            self.look();
        }
        Ok(())
    }

    #[inline(always)]
    fn alloc(&mut self, size: u64, align_log2: u8) -> Result<NonNull<u8>, u64> {
        let (bytes, align) = (usize::try_from(size), 1usize.checked_shl(align_log2.into()));
        let request = bytes.ok().zip(align).and_then(|(bytes, align)| Request::new(bytes, align));
        request.and_then(|request| self.tlsf.alloc(request)).ok_or(size)
    }

    /// As the pool heap does it: where it is, or a new block and then the old one back.
    fn realloc(&mut self, slot: u32, size: u64) -> Result<(), u64> {
        let (Some(block), old) = self.slots[slot as usize] else {
            let block = self.alloc(size, 0)?;
            self.keep(slot, block, size);
            return Ok(());
        };
        let request = usize::try_from(size).ok().and_then(Request::bytes).ok_or(size)?;
        // SAFETY: a block of this heap.
        let block = if unsafe { self.tlsf.resize(block, request) } {
            block
        } else {
            let new = self.alloc(size, 0)?;
            // SAFETY: a block of this heap that was not freed.
            unsafe { self.tlsf.free(block) };
            new
        };
        self.live_bytes -= old;
        self.keep(slot, block, size);
        Ok(())
    }

    #[inline(always)]
    fn keep(&mut self, slot: u32, block: NonNull<u8>, size: u64) {
        self.slots[slot as usize] = (Some(block), size);
        self.live_bytes += size;
        self.found.peak_live_bytes = self.found.peak_live_bytes.max(self.live_bytes);
    }

    #[inline(always)]
    fn free(&mut self, slot: u32) {
        let (block, size) = &mut self.slots[slot as usize];
        if let Some(block) = block.take() {
            self.live_bytes -= *size;
            // SAFETY: a block of this heap that was not freed.
            unsafe { self.tlsf.free(block) };
        }
    }

    fn look(&mut self) {
        let Stats { used_bytes, free_bytes, largest_free_bytes, .. } = self.tlsf.stats();
        self.live_to_look = self.live_to_look.max(self.live_bytes);
        if self.found.calls == 0 || largest_free_bytes < self.found.tightest.largest_free_bytes {
            self.found.tightest = Tightest { used_bytes, free_bytes, largest_free_bytes };
        }
    }
}
