//! The recorder as a part of the program: for those that nothing can be preloaded into, because they are
//! linked statically.
//!
//! ```ignore
//! #[global_allocator]
//! static HEAP: RecordedHeap<System> = RecordedHeap::new(System);
//! ```
//! *You bring* the heap that blocks come from. *It guarantees* to forward every call to it as it is, and to
//! record it when the program was started by `heapscribe record`; otherwise a call costs a look at a flag.
//! *It refuses* to record what the preloaded library records already.
//!
//! Blocks of C code in the same program are not seen: they do not come from Rust's allocator.
#![allow(unsafe_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::arch::asm;
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_nolibc::at_fork::Handler;
use heapscribe_wire::record::Call;

use crate::enter::{self, TimedCall};
use crate::state::hook_flags;
use crate::unwind::Registers;
use crate::{lifecycle, program};

unsafe extern "C" {
    fn pthread_atfork(prepare: Option<Handler>, parent: Option<Handler>, child: Option<Handler>) -> c_int;
}

/// A heap whose blocks are recorded.
#[derive(Debug, Default)]
pub struct RecordedHeap<A>(A);

/// Whether blocks are recorded here, or by the preloaded library.
static RECORDS: AtomicU32 = AtomicU32::new(UNKNOWN);
const UNKNOWN: u32 = 0;
const NO: u32 = 1;
const YES: u32 = 2;

impl<A> RecordedHeap<A> {
    /// Over this heap.
    pub const fn new(heap: A) -> RecordedHeap<A> {
        RecordedHeap(heap)
    }
}

/// Whether blocks are recorded here.
#[inline(always)]
fn is_recording() -> bool {
    match RECORDS.load(Ordering::Relaxed) {
        UNKNOWN => look_for_preload(),
        known => known == YES,
    }
}

/// The preloaded library is known by a function that only it has.
#[cold]
fn look_for_preload() -> bool {
    let preloaded = program::loader().and_then(|loader| loader.find_anywhere(b"heapscribe_api_stats"));
    if preloaded.is_none() {
        program::set_own_heap();
        lifecycle::provide_pthread_atfork(pthread_atfork);
    }
    RECORDS.store(if preloaded.is_none() { YES } else { NO }, Ordering::Relaxed);
    preloaded.is_none()
}

/// The registers here, where the walk of the stack begins: inside the allocator's own frame.
#[inline(always)]
fn registers() -> Registers {
    let (pc, sp, bp): (usize, usize, usize);
    // SAFETY: reads three registers.
    unsafe {
        asm!("lea {pc}, [rip + 2f]", "2:", "mov {sp}, rsp", "mov {bp}, rbp", pc = out(reg) pc,
            sp = out(reg) sp, bp = out(reg) bp, options(nomem, nostack, preserves_flags));
    }
    Registers { pc, sp, bp }
}

/// Which of C's functions does the same.
fn call_for(layout: Layout, plain: Call) -> (Call, usize) {
    const USUAL_ALIGN: usize = 16;
    if layout.align() <= USUAL_ALIGN { (plain, 0) } else { (Call::AlignedAlloc, layout.align()) }
}

/// Makes a call that allocates, and records it, or that it failed.
///
/// # Safety
/// * `alloc` gives a block for `layout` that no other thread has, or null.
/// * `registers` are those of a frame that is still active.
#[inline(always)]
unsafe fn record_alloc(
    alloc: impl FnOnce() -> *mut u8,
    layout: Layout,
    plain: Call,
    registers: Registers,
) -> *mut u8 {
    prepare(&registers);
    let (block, took) = hook_flags::timed(alloc);
    if is_recording()
        && let Some(entered) = enter::enter(&registers)
    {
        let (call, align) = call_for(layout, plain);
        let size_bytes = layout.size() as u64;
        // SAFETY: the registers are those of an active frame; no other thread has the block.
        unsafe {
            entered.record_timed(&TimedCall { call, size_bytes, registers, took }, |entered| {
                entered.record_alloc::<false>(call, block as usize, layout.size(), align, registers);
                0
            });
        }
    }
    block
}

/// Whether blocks are recorded here; then it is known what is wanted of calls.
#[inline(always)]
fn prepare(registers: &Registers) -> bool {
    let is_recording = is_recording();
    if is_recording {
        enter::settle_flags(registers);
    }
    is_recording
}

// SAFETY: every call is the inner heap's, with its arguments and its answer unchanged.
unsafe impl<A: GlobalAlloc> GlobalAlloc for RecordedHeap<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let registers = registers();
        // SAFETY: the layout is the caller's, forwarded; the registers are those of this frame.
        unsafe { record_alloc(|| self.0.alloc(layout), layout, Call::Malloc, registers) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let registers = registers();
        // SAFETY: the layout is the caller's, forwarded; the registers are those of this frame.
        unsafe { record_alloc(|| self.0.alloc_zeroed(layout), layout, Call::Calloc, registers) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let registers = registers();
        let entered = if prepare(&registers) { enter::enter(&registers) } else { None };
        let timed = TimedCall { call: Call::Free, size_bytes: 0, registers, took: None };
        // SAFETY: block and layout are the caller's, forwarded: nobody else has the block until `dealloc`; the
        // registers are those of this frame.
        unsafe {
            let written = entered.and_then(|entered| {
                entered.record_timed(&timed, |entered| entered.record_free(Call::Free, block as usize))
            });
            let ((), units) = hook_flags::timed(|| self.0.dealloc(block, layout));
            if let (Some(written), Some(units)) = (written, units) {
                enter::record_took(&registers, written, units);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let registers = registers();
        let entered = if prepare(&registers) { enter::enter(&registers) } else { None };
        // SAFETY: block, layout and size are the caller's, forwarded: nobody else has the block until `realloc`,
        // and then nobody else has the new one; the registers are those of this frame.
        unsafe {
            let Some(removed) = entered.map(|entered| entered.remove_for_resize(block as usize)) else {
                return self.0.realloc(block, layout, new_size);
            };
            let (new, took) = hook_flags::timed(|| self.0.realloc(block, layout, new_size));
            if let Some(entered) = enter::resume(&registers) {
                let call = Call::Realloc;
                let timed = TimedCall { call, size_bytes: new_size as u64, registers, took };
                entered.record_timed(&timed, |entered| {
                    match new.is_null() {
                        true => entered.record_realloc_failed(call, removed, new_size, registers),
                        false => entered.record_realloc(call, removed, new as usize, new_size, registers),
                    }
                    0
                });
            }
            new
        }
    }
}
