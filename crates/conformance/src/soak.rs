//! A soak test: very many operations on a heap that is always about as full, while the sizes asked for shift, as in a
//! program that runs for months. It shows whether fragmentation grows without bound.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use heapscribe_alloc::{Heap, Request};

use crate::workload::{Rng, SizeRange};

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct SoakPlan {
    /// Calls of the heap.
    pub operations: u64,
    /// Of them with each range of sizes.
    pub phase_operations: u64,
    /// Bytes asked for that are live at a time, at most and nearly always.
    pub live_bytes: usize,
    /// Of the random numbers.
    pub seed: u64,
}

/// The result so far.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SoakProgress {
    /// Calls made.
    pub operations: u64,
    /// Requests that got nothing.
    pub failures: u64,
    /// From the lowest to the highest address of a block, in the last cycle of size ranges.
    pub extent_bytes: usize,
}

struct LiveBlock {
    block: NonNull<u8>,
    size: usize,
}

struct Run<'a> {
    heap: &'a dyn Heap,
    rng: Rng,
    blocks: Vec<LiveBlock>,
    live_bytes: usize,
    lowest: usize,
    highest: usize,
    done: SoakProgress,
}

/// Runs it and calls `progress` after every cycle of size ranges; a `false` from there ends it early. A block that
/// does not hold what was written is the error.
pub fn soak(
    heap: &dyn Heap,
    plan: SoakPlan,
    mut progress: impl FnMut(&SoakProgress) -> bool,
) -> Result<SoakProgress, String> {
    let mut run = Run {
        heap,
        rng: Rng::new(plan.seed),
        blocks: Vec::with_capacity(plan.live_bytes / 16),
        live_bytes: 0,
        lowest: usize::MAX,
        highest: 0,
        done: SoakProgress::default(),
    };
    'cycles: while run.done.operations < plan.operations {
        (run.lowest, run.highest) = (usize::MAX, 0);
        for range in SizeRange::SHIFTING {
            let end = (run.done.operations + plan.phase_operations).min(plan.operations);
            while run.done.operations < end {
                run.step(range, plan.live_bytes)?;
            }
        }
        run.done.extent_bytes = run.highest.saturating_sub(run.lowest);
        if !progress(&run.done) {
            break 'cycles;
        }
    }
    while !run.blocks.is_empty() {
        run.free(0)?;
    }
    Ok(run.done)
}

impl Run<'_> {
    /// Frees until there is room, then allocates a block; now and then resizes one.
    fn step(&mut self, range: SizeRange, most_bytes: usize) -> Result<(), String> {
        let size = range.size(&mut self.rng);
        while self.live_bytes + size > most_bytes {
            let at = self.rng.below(self.blocks.len());
            self.free(at)?;
        }
        self.done.operations += 1;
        if self.rng.below(16) == 0 && !self.blocks.is_empty() {
            return self.resize(size);
        }
        let align = if self.rng.below(64) == 0 { 64 << self.rng.below(7) } else { 16 };
        let Some(request) = Request::new(size, align) else { return Ok(()) };
        match self.heap.alloc(request) {
            Some(block) => self.record_alloc(block, size),
            None => self.done.failures += 1,
        }
        Ok(())
    }

    fn resize(&mut self, size: usize) -> Result<(), String> {
        let at = self.rng.below(self.blocks.len());
        let LiveBlock { block, size: old } = self.blocks[at];
        self.verify(block, old)?;
        let Some(request) = Request::bytes(size) else { return Ok(()) };
        // SAFETY: the heap's block.
        let Some(new) = (unsafe { self.heap.realloc(block, request) }) else {
            self.done.failures += 1;
            return Ok(());
        };
        // SAFETY: at least 16 bytes.
        let first = unsafe { new.cast::<usize>().read() };
        if first != mark(block, old) {
            return Err(format!("realloc from {old} to {size} bytes lost what was there: {first:#x}"));
        }
        self.blocks.swap_remove(at);
        self.live_bytes -= old;
        self.record_alloc(new, size);
        Ok(())
    }

    fn record_alloc(&mut self, block: NonNull<u8>, size: usize) {
        let at = block.as_ptr() as usize;
        (self.lowest, self.highest) = (self.lowest.min(at), self.highest.max(at + size));
        // SAFETY: a block of at least 16 bytes: its first and its last 8.
        unsafe {
            block.add(size - 8).cast::<usize>().write_unaligned(!mark(block, size));
            block.cast::<usize>().write(mark(block, size));
        }
        self.live_bytes += size;
        self.blocks.push(LiveBlock { block, size });
    }

    fn verify(&self, block: NonNull<u8>, size: usize) -> Result<(), String> {
        // SAFETY: the heap's block, of at least 16 bytes.
        let (first, last) =
            unsafe { (block.cast::<usize>().read(), block.add(size - 8).cast::<usize>().read_unaligned()) };
        if first == mark(block, size) && last == !mark(block, size) {
            return Ok(());
        }
        Err(format!("a block of {size} bytes at {block:p} holds {first:#x} and {last:#x}"))
    }

    fn free(&mut self, at: usize) -> Result<(), String> {
        let LiveBlock { block, size } = self.blocks.swap_remove(at);
        self.verify(block, size)?;
        // SAFETY: the heap's block.
        unsafe { self.heap.free(block) };
        self.live_bytes -= size;
        self.done.operations += 1;
        Ok(())
    }
}

/// What a block is marked with.
fn mark(block: NonNull<u8>, size: usize) -> usize {
    (block.as_ptr() as usize).rotate_left(20) ^ size
}
