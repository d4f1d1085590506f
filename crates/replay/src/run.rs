//! Operations on a heap, one after the other, in this thread. Meanwhile nothing else is allocated here.
//!
//! A block's memory is touched as a program would, so that the heap's memory is resident; that is not timed, so
//! that a heap is charged for page faults of its own only.
#![allow(unsafe_code)]

use std::io;
use std::ptr::NonNull;

use heapscribe_alloc::{Heap, Request};
use serde::{Deserialize, Serialize};

use crate::observer::{Kind, Observer};
use crate::op::Op;
use crate::program::Program;

const PAGE_BYTES: usize = 4096;

/// What is written to of a block that was allocated or has grown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Touch {
    /// Nothing: only what the heap itself writes becomes resident.
    Nothing,
    /// A byte of each page.
    Pages,
    /// Every byte.
    All,
}

/// The result of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Calls that were made.
    pub calls: u64,
    /// Of these, requests that got nothing. Later calls for such a block are not made.
    pub failures: u64,
    /// The largest of these.
    pub failed_max_bytes: u64,
    /// The most bytes live at a time, of requests that were served.
    pub peak_live_bytes: u64,
    /// Blocks that were live after the last operation, and freed then.
    pub left_blocks: u64,
}

/// A slot of the program, and the block in it.
#[derive(Clone, Copy, Debug)]
struct Slot {
    block: Option<NonNull<u8>>,
    size: usize,
}

// SAFETY: a slot names a block of a heap, which any thread may write to and free; one has it at a time.
unsafe impl Send for Slot {}

/// A run, at the operation that comes next.
pub(crate) struct Run<'a, H: Heap + ?Sized, W> {
    heap: &'a H,
    observer: &'a mut W,
    touch: Touch,
    slots: Vec<Slot>,
    live_bytes: u64,
    outcome: Outcome,
}

/// Runs a program.
///
/// # Errors
/// When the program cannot be read or is damaged. Blocks that were allocated until then are freed.
pub fn run<H: Heap + ?Sized, W: Observer>(
    heap: &H,
    program: &Program<'_>,
    touch: Touch,
    observer: &mut W,
) -> io::Result<Outcome> {
    let mut run = Run::new(heap, program.slots(), touch, observer);
    let mut ops = program.ops();
    run.begin();
    let ended = loop {
        match ops.next_op() {
            Ok(Some(op)) => run.step(op),
            Ok(None) => break Ok(()),
            Err(e) => break Err(e),
        }
    };
    let outcome = run.finish();
    ended.map(|()| outcome)
}

impl<'a, H: Heap + ?Sized, W: Observer> Run<'a, H, W> {
    /// All of our own memory is allocated before the heap is measured.
    pub(crate) fn new(heap: &'a H, slots: usize, touch: Touch, observer: &'a mut W) -> Self {
        let slots = vec![Slot { block: None, size: 1 }; slots];
        Run { heap, observer, touch, slots, live_bytes: 0, outcome: Outcome::default() }
    }

    pub(crate) fn begin(&mut self) {
        self.observer.begin();
    }

    /// Frees what is left.
    pub(crate) fn finish(mut self) -> Outcome {
        self.clear();
        self.outcome
    }

    #[inline(always)]
    pub(crate) fn step(&mut self, op: Op) {
        match op {
            Op::Alloc { slot, size_bytes, align_log2, zeroed } => {
                self.alloc(slot, size_bytes, align_log2, zeroed);
            }
            Op::Free { slot, .. } => self.free(slot),
            Op::Realloc { slot, size_bytes } => self.realloc(slot, size_bytes),
            Op::Thread { .. } | Op::Mark => return,
            Op::Moment { ns } => {
                let heap = self.heap;
                return self.observer.moment(ns, self.live_bytes, || heap.stats());
            }
        }
        self.observer.after(self.live_bytes);
    }

    #[inline(always)]
    fn alloc(&mut self, slot: u32, size_bytes: u64, align_log2: u8, zeroed: bool) {
        let heap = self.heap;
        self.free_occupied(slot);
        self.outcome.calls += 1;
        let Some(request) = request(size_bytes, align_log2) else { return self.failed(size_bytes) };
        let block = match (zeroed, align_log2) {
            (true, _) => self.observer.call(Kind::Zeroed, || heap.alloc_zeroed(request)),
            (false, 0) => self.observer.call(Kind::Alloc, || heap.alloc(request)),
            (false, _) => self.observer.call(Kind::Aligned, || heap.alloc(request)),
        };
        match block {
            Some(block) => self.record_alloc(slot, block, 0, request.size_bytes()),
            None => self.failed(size_bytes),
        }
    }

    #[inline(always)]
    fn realloc(&mut self, slot: u32, size_bytes: u64) {
        let (heap, Slot { block, size }) = (self.heap, self.slots[slot as usize]);
        // Its allocation has failed: this is a new one.
        let Some(block) = block else { return self.alloc(slot, size_bytes, 0, false) };
        self.outcome.calls += 1;
        let Some(request) = request(size_bytes, 0) else { return self.failed(size_bytes) };
        // SAFETY: used: what is in a slot was allocated by this heap and was not freed.
        match self.observer.call(Kind::Realloc, || unsafe { heap.realloc(block, request) }) {
            Some(new) => {
                self.live_bytes -= size as u64;
                self.record_alloc(slot, new, size, request.size_bytes());
            }
            None => self.failed(size_bytes),
        }
    }

    #[inline(always)]
    fn free(&mut self, slot: u32) {
        let heap = self.heap;
        let Slot { block: Some(block), size } = self.slots[slot as usize] else { return };
        self.slots[slot as usize].block = None;
        self.outcome.calls += 1;
        self.live_bytes -= size as u64;
        // SAFETY: used: what was in a slot was allocated by this heap and was not freed.
        self.observer.call(Kind::Free, || unsafe { heap.free(block) });
    }

    /// Frees the block of a slot that is not empty, which is so in damaged programs only: nothing else would.
    #[inline(always)]
    fn free_occupied(&mut self, slot: u32) {
        if self.slots[slot as usize].block.is_some() {
            self.free(slot);
        }
    }

    #[inline(always)]
    fn record_alloc(&mut self, slot: u32, block: NonNull<u8>, written: usize, size: usize) {
        self.slots[slot as usize] = Slot { block: Some(block), size };
        self.live_bytes += size as u64;
        self.outcome.peak_live_bytes = self.outcome.peak_live_bytes.max(self.live_bytes);
        if size > written {
            // SAFETY: sized: the block has `size` bytes.
            unsafe { touch(self.touch, block, written, size) };
        }
    }

    #[cold]
    fn failed(&mut self, size_bytes: u64) {
        self.outcome.failures += 1;
        self.outcome.failed_max_bytes = self.outcome.failed_max_bytes.max(size_bytes);
    }

    fn clear(&mut self) {
        for slot in &mut self.slots {
            if let Some(block) = slot.block.take() {
                self.outcome.left_blocks += 1;
                // SAFETY: used: what was in a slot was allocated by this heap and was not freed.
                unsafe { self.heap.free(block) };
            }
        }
    }
}

fn request(size_bytes: u64, align_log2: u8) -> Option<Request> {
    Request::new(usize::try_from(size_bytes).ok()?, 1usize.checked_shl(align_log2.into())?)
}

/// Writes to a block from a place on.
///
/// # Safety
/// * Sized: the block has `end` bytes.
#[inline(always)]
unsafe fn touch(what: Touch, block: NonNull<u8>, from: usize, end: usize) {
    debug_assert!(from < end);
    // SAFETY: sized: `from..end` lies in the block.
    unsafe {
        match what {
            Touch::Nothing => {}
            Touch::All => block.add(from).write_bytes(0xa5, end - from),
            Touch::Pages => {
                for at in (from..end).step_by(PAGE_BYTES) {
                    block.add(at).write_volatile(1);
                }
                block.add(end - 1).write_volatile(1);
            }
        }
    }
}
