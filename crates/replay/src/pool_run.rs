//! Operations in one pool of a size, to learn whether it suffices. The pool is real and so are its blocks; only
//! their contents are not written, so that a pool of gigabytes is tried in the memory of its headers.
//!
//! Where in memory a pool lies matters to blocks with large alignments, and how large blocks are differs from
//! one run of a program to the next by the length of a path or a number; [`Variation`] changes both.
#![allow(unsafe_code)]

use std::io;
use std::ptr::NonNull;

use heapscribe_alloc::locked::uncounted;
use heapscribe_alloc::tlsf::{Tlsf, total_for};
use heapscribe_alloc::{Request, Stats};
use serde::Serialize;

use crate::op::Op;
use crate::program::Program;

const PAGE_BYTES: usize = 4096;
/// Pools may begin at any page of this many bytes.
const PLACES_BYTES: usize = 2 << 20;
/// Calls between two looks at the free memory, besides those at new peaks.
const CALLS_PER_SAMPLE: u64 = 64;
/// Sizes are changed by up to a twentieth.
const SHARE: u64 = 20;

/// Memory for pools, one after the other.
#[derive(Debug)]
pub struct PoolMemory {
    base: NonNull<u8>,
    most_bytes: usize,
}

// SAFETY: its memory is nobody else's, and is used through `&mut` only.
unsafe impl Send for PoolMemory {}

impl PoolMemory {
    /// For pools of up to so many bytes; `None` when there is no such memory. It is never unmapped.
    pub fn new(most_bytes: usize) -> Option<PoolMemory> {
        let area = uncounted(most_bytes.checked_add(2 * PLACES_BYTES)?)?;
        let gap = (area.base.as_ptr() as usize).wrapping_neg() % PLACES_BYTES;
        // SAFETY: there are two more such pieces than the pool needs.
        Some(PoolMemory { base: unsafe { area.base.add(gap) }, most_bytes })
    }

    /// The largest pool.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes
    }
}

/// What is different from the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Variation {
    /// Decides where the pool begins and by how much each size is changed, up to 5 %; 0: nothing is.
    pub seed: u64,
}

impl Variation {
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

/// The result of a run in one pool.
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
    /// Misuses that the pool counted: none, or a bug of ours.
    pub misuses: u64,
}

/// The most that the blocks of a program take of a pool at a time: no pool that is smaller serves it, wherever
/// they lie.
///
/// # Errors
/// When the program cannot be read.
pub fn floor_bytes(program: &Program<'_>, variation: Variation) -> io::Result<u64> {
    let (mut totals, mut calls) = (vec![0u64; program.slots()], 0);
    let (mut taken, mut most) = (0u128, 0u128);
    let mut ops = program.ops();
    while let Some(op) = ops.next_op()? {
        let (slot, total) = match op {
            Op::Alloc { slot, size_bytes, .. } | Op::Realloc { slot, size_bytes } => {
                let size = usize::try_from(variation.size(size_bytes, calls)).unwrap_or(usize::MAX);
                (slot, total_for(size) as u64)
            }
            Op::Free { slot, .. } => (slot, 0),
            Op::Moment { .. } | Op::Thread { .. } | Op::Mark => continue,
        };
        let before = std::mem::replace(&mut totals[slot as usize], total);
        taken = taken + u128::from(total) - u128::from(before);
        most = most.max(taken);
        calls += 1;
    }
    Ok(u64::try_from(most).unwrap_or(u64::MAX))
}

/// A slot of the program, and the block in it.
#[derive(Clone, Copy, Default)]
struct Slot {
    block: Option<NonNull<u8>>,
    size: u64,
}

struct Run {
    tlsf: Tlsf,
    slots: Vec<Slot>,
    variation: Variation,
    live_bytes: u64,
    /// The most live bytes of all samples.
    live_to_sample: u64,
    result: PoolRun,
}

impl PoolRun {
    /// Whether every request was served.
    pub fn is_served(&self) -> bool {
        self.failed_bytes.is_none()
    }

    /// Runs a program in one pool, to its end or the first request that gets nothing.
    ///
    /// # Errors
    /// When the program cannot be read, or the pool is larger than the memory.
    pub fn of(
        memory: &mut PoolMemory,
        pool_bytes: usize,
        program: &Program<'_>,
        variation: Variation,
    ) -> io::Result<PoolRun> {
        PoolRun::sampled::<true>(memory, pool_bytes, program, variation)
    }

    /// Whether every request of a program is served in one pool. Nothing else is measured, which is faster.
    ///
    /// # Errors
    /// As [`PoolRun::of`].
    pub fn serves(
        memory: &mut PoolMemory,
        pool_bytes: usize,
        program: &Program<'_>,
        variation: Variation,
    ) -> io::Result<bool> {
        PoolRun::sampled::<false>(memory, pool_bytes, program, variation).map(|run| run.is_served())
    }

    fn sampled<const SAMPLES: bool>(
        memory: &mut PoolMemory,
        pool_bytes: usize,
        program: &Program<'_>,
        variation: Variation,
    ) -> io::Result<PoolRun> {
        if pool_bytes > memory.most_bytes {
            return Err(io::Error::other("the pool is larger than the memory it is made in"));
        }
        let mut tlsf = Tlsf::new();
        // SAFETY: ours: the memory has this much behind its base, at any place; `&mut` says that nobody else uses
        // it, and the heap does not outlive this call.
        if !unsafe { tlsf.add_pool(memory.base.add(variation.place()), pool_bytes) } {
            return Ok(PoolRun { failed_bytes: Some(0), ..PoolRun::default() });
        }
        let slots = vec![Slot::default(); program.slots()];
        let mut run =
            Run { tlsf, slots, variation, live_bytes: 0, live_to_sample: 0, result: PoolRun::default() };
        run.sample();
        let mut ops = program.ops();
        while let Some(op) = ops.next_op()? {
            if let Err(failed_bytes) = run.step::<SAMPLES>(op) {
                run.result.failed_bytes = Some(failed_bytes);
                break;
            }
        }
        let stats = run.tlsf.stats();
        Ok(PoolRun { peak_used_bytes: stats.peak_bytes, misuses: stats.misuses, ..run.result })
    }
}

impl Run {
    /// Makes a call; the bytes of the request are the error when it gets nothing.
    #[inline(always)]
    fn step<const SAMPLES: bool>(&mut self, op: Op) -> Result<(), u64> {
        match op {
            Op::Alloc { slot, size_bytes, align_log2, .. } => {
                let size = self.variation.size(size_bytes, self.result.calls);
                self.free(slot);
                let block = self.alloc(size, align_log2)?;
                self.record_alloc(slot, block, size);
            }
            Op::Free { slot, .. } => self.free(slot),
            Op::Realloc { slot, size_bytes } => {
                let size = self.variation.size(size_bytes, self.result.calls);
                self.realloc(slot, size)?;
            }
            Op::Moment { .. } | Op::Thread { .. } | Op::Mark => return Ok(()),
        }
        self.result.calls += 1;
        if SAMPLES
            && (self.result.calls.is_multiple_of(CALLS_PER_SAMPLE) || self.live_bytes > self.live_to_sample)
        {
            self.sample();
        }
        Ok(())
    }

    #[inline(always)]
    fn alloc(&mut self, size: u64, align_log2: u8) -> Result<NonNull<u8>, u64> {
        let (bytes, align) = (usize::try_from(size), 1usize.checked_shl(align_log2.into()));
        let request = bytes.ok().zip(align).and_then(|(bytes, align)| Request::new(bytes, align));
        request.and_then(|request| self.tlsf.alloc(request)).ok_or(size)
    }

    /// As the pool heap does it: in place, or a new block, and then the old one is freed.
    fn realloc(&mut self, slot: u32, size: u64) -> Result<(), u64> {
        let Slot { block: Some(block), size: old } = self.slots[slot as usize] else {
            let block = self.alloc(size, 0)?;
            self.record_alloc(slot, block, size);
            return Ok(());
        };
        let request = usize::try_from(size).ok().and_then(Request::bytes).ok_or(size)?;
        // SAFETY: used: what is in a slot was allocated by this heap and was not freed.
        let block = if unsafe { self.tlsf.resize(block, request) } {
            block
        } else {
            let new = self.alloc(size, 0)?;
            // SAFETY: used: what is in a slot was allocated by this heap and was not freed.
            unsafe { self.tlsf.free(block) };
            new
        };
        self.live_bytes -= old;
        self.record_alloc(slot, block, size);
        Ok(())
    }

    #[inline(always)]
    fn record_alloc(&mut self, slot: u32, block: NonNull<u8>, size: u64) {
        self.slots[slot as usize] = Slot { block: Some(block), size };
        self.live_bytes += size;
        self.result.peak_live_bytes = self.result.peak_live_bytes.max(self.live_bytes);
    }

    #[inline(always)]
    fn free(&mut self, slot: u32) {
        let Slot { block, size } = &mut self.slots[slot as usize];
        if let Some(block) = block.take() {
            self.live_bytes -= *size;
            // SAFETY: used: what is in a slot was allocated by this heap and was not freed.
            unsafe { self.tlsf.free(block) };
        }
    }

    fn sample(&mut self) {
        let Stats { used_bytes, free_bytes, largest_free_bytes, .. } = self.tlsf.stats();
        self.live_to_sample = self.live_to_sample.max(self.live_bytes);
        if self.result.calls == 0 || largest_free_bytes < self.result.tightest.largest_free_bytes {
            self.result.tightest = Tightest { used_bytes, free_bytes, largest_free_bytes };
        }
    }
}
