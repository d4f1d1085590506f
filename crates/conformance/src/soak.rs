//! Many operations on a heap that is always about as full, while the sizes asked for shift: what a program
//! does in months, in minutes. Whether the heap needs more and more memory for the same is the question.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use heapscribe_alloc::{Heap, Request};

use crate::load::{Band, Chance};

/// How long, and of what.
#[derive(Clone, Copy, Debug)]
pub struct Soak {
    /// Calls of the heap.
    pub operations: u64,
    /// Of them with each band of sizes.
    pub phase_operations: u64,
    /// Bytes asked for that are live at a time, at most and nearly always.
    pub live_bytes: usize,
    /// For other numbers.
    pub seed: u64,
}

/// What came of it so far.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Soaked {
    /// Calls made.
    pub operations: u64,
    /// Requests that got nothing.
    pub failures: u64,
    /// How far blocks have reached, from the lowest to the highest address, in the last cycle of bands.
    pub extent_bytes: usize,
}

struct Live {
    block: NonNull<u8>,
    size: usize,
}

struct Bath<'a> {
    heap: &'a dyn Heap,
    chance: Chance,
    blocks: Vec<Live>,
    live_bytes: usize,
    lowest: usize,
    highest: usize,
    done: Soaked,
}

/// Runs it and tells `progress` after every cycle of bands; a `false` from there ends it early. A block that
/// does not hold what was written is the error.
pub fn soak(
    heap: &dyn Heap,
    soak: Soak,
    mut progress: impl FnMut(&Soaked) -> bool,
) -> Result<Soaked, String> {
    let mut bath = Bath {
        heap,
        chance: Chance::new(soak.seed),
        blocks: Vec::with_capacity(soak.live_bytes / 16),
        live_bytes: 0,
        lowest: usize::MAX,
        highest: 0,
        done: Soaked::default(),
    };
    'cycles: while bath.done.operations < soak.operations {
        (bath.lowest, bath.highest) = (usize::MAX, 0);
        for band in Band::SHIFTING {
            let end = (bath.done.operations + soak.phase_operations).min(soak.operations);
            while bath.done.operations < end {
                bath.step(band, soak.live_bytes)?;
            }
        }
        bath.done.extent_bytes = bath.highest.saturating_sub(bath.lowest);
        if !progress(&bath.done) {
            break 'cycles;
        }
    }
    while !bath.blocks.is_empty() {
        bath.free(0)?;
    }
    Ok(bath.done)
}

impl Bath<'_> {
    /// Frees until there is room, then gets a block; now and then resizes one.
    fn step(&mut self, band: Band, most_bytes: usize) -> Result<(), String> {
        let size = band.size(&mut self.chance);
        while self.live_bytes + size > most_bytes {
            let at = self.chance.below(self.blocks.len());
            self.free(at)?;
        }
        self.done.operations += 1;
        if self.chance.below(16) == 0 && !self.blocks.is_empty() {
            return self.resize(size);
        }
        let align = if self.chance.below(64) == 0 { 64 << self.chance.below(7) } else { 16 };
        let Some(request) = Request::new(size, align) else { return Ok(()) };
        match self.heap.alloc(request) {
            Some(block) => self.keep(block, size),
            None => self.done.failures += 1,
        }
        Ok(())
    }

    fn resize(&mut self, size: usize) -> Result<(), String> {
        let at = self.chance.below(self.blocks.len());
        let Live { block, size: old } = self.blocks[at];
        self.judge(block, old)?;
        let Some(request) = Request::bytes(size) else { return Ok(()) };
        // SAFETY: the heap's block.
        let Some(new) = (unsafe { self.heap.realloc(block, request) }) else {
            self.done.failures += 1;
            return Ok(());
        };
        // SAFETY: at least 16 bytes.
        let kept = unsafe { new.cast::<usize>().read() };
        if kept != mark(block, old) {
            return Err(format!("realloc from {old} to {size} bytes lost what was there: {kept:#x}"));
        }
        self.blocks.swap_remove(at);
        self.live_bytes -= old;
        self.keep(new, size);
        Ok(())
    }

    fn keep(&mut self, block: NonNull<u8>, size: usize) {
        let at = block.as_ptr() as usize;
        (self.lowest, self.highest) = (self.lowest.min(at), self.highest.max(at + size));
        // SAFETY: a block of at least 16 bytes: its first and its last 8.
        unsafe {
            block.add(size - 8).cast::<usize>().write_unaligned(!mark(block, size));
            block.cast::<usize>().write(mark(block, size));
        }
        self.live_bytes += size;
        self.blocks.push(Live { block, size });
    }

    fn judge(&self, block: NonNull<u8>, size: usize) -> Result<(), String> {
        // SAFETY: as in `keep`.
        let (first, last) =
            unsafe { (block.cast::<usize>().read(), block.add(size - 8).cast::<usize>().read_unaligned()) };
        if first == mark(block, size) && last == !mark(block, size) {
            return Ok(());
        }
        Err(format!("a block of {size} bytes at {block:p} holds {first:#x} and {last:#x}"))
    }

    fn free(&mut self, at: usize) -> Result<(), String> {
        let Live { block, size } = self.blocks.swap_remove(at);
        self.judge(block, size)?;
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
